"""Logging, metrics, tracing and probes of a running process. They do not depend on the work of the process."""
