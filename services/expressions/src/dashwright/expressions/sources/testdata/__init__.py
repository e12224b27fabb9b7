"""The built-in source ``grafana-testdata-datasource``: computes its answers, always the same to the same question."""
