"""Variables of dashboards: their definitions, options and values, and the interpolation of text with them."""
