"""The interceptor: rows, shared prefixes, attention, sampling and the plain reference loop."""
