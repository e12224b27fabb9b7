"""Doors of the classic API to dashboards, folders and library panels: the same objects and rules as the resource API's."""
