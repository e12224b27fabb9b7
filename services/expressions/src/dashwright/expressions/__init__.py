"""The worker that evaluates expression queries. Knows no other service."""
