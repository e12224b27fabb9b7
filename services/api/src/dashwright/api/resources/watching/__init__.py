"""Watches of the resource API: their options, the events of each watcher, and the lines that are sent."""
