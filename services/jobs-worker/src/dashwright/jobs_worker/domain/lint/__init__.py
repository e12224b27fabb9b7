"""Lint: rules on the spec of a dashboard. No rule runs a query."""
