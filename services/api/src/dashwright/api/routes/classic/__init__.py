"""Thin doors of the classic API to dashboards and folders: what clients need to start with. Grown with the rest of that API."""
