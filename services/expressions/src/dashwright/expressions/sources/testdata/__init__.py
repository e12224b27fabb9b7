"""The built-in source ``grafana-testdata-datasource``, which computes its results. Equal queries have equal results."""
