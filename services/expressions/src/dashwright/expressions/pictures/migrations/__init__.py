"""Migrations of panels that were written for Grafana's Angular plugins, into the panels that Grafana makes of them.

A migration is a function from the members of an old panel to those of its successor. ``registry`` has all of them by old type.
"""
