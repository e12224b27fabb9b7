"""Parts of time series panels: looks, missing values, stacks, axes, thresholds, marks and legends, as Grafana draws them."""
