"""Logging, metrics, tracing and probes: how a running process is watched. Knows nothing of what the process does."""
