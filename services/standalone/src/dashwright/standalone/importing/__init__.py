"""The import of a Grafana database: reading, conversion of each row, and the report."""
