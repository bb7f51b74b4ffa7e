"""Held-out transfer: whether a model calls a tool for skills that its prompt does not demonstrate."""
