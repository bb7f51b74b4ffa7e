"""Suites: what a held-out question is asked about. A suite is a list of skills and the tools they call."""
