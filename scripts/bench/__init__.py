"""Benchmarks: one module per command."""
