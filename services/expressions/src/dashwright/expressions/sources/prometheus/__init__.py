"""The data source ``prometheus``: range and instant queries over the HTTP API of Prometheus and compatible servers."""
