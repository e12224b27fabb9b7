"""The import of a Grafana database: the source, the conversion of rows, the target and the report."""
