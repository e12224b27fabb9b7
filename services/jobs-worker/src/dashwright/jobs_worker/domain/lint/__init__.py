"""Lint: rules on a dashboard that look at its spec alone. No query is run."""
