"""Logging, metrics, tracing and probes of a running process. Does not know what the process does."""
