"""Queries over HTTP: one session for all data sources, their credentials, and connections to allowed hosts only."""
