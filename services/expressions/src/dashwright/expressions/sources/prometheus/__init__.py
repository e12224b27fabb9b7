"""The source ``prometheus``: range and instant queries over the HTTP API of Prometheus and what speaks it."""
