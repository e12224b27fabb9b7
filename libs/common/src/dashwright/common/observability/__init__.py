"""Logging, metrics, tracing and probes of a running process. It knows nothing about the work of the process."""
