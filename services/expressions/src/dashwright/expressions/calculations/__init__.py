"""Calculations: functions that reduce the values of a field to one value, with the ids and results of Grafana.

Transformations, legends and the panels of pictures use them. ``table`` has all of them by id.
"""
