"""The worker that evaluates expression queries. It imports no other service."""
