"""Commands to run from a checkout."""
