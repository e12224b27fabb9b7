"""The built-in source ``grafana-testdata-datasource``: computes its results, the same for equal queries."""
