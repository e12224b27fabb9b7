"""Route tables, one module per area: functions that take their dependencies and return routes."""
