"""The route tables, one module an area: functions that take what they need and return routes."""
