"""Asking data sources over HTTP: one session for all of them, with their credentials, and only where the setting lets it reach."""
