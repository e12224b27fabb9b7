"""The import of a Grafana database: what it reads, what becomes of each row, and how it is told."""
