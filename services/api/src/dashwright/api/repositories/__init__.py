"""Repositories: configuration, files, webhooks and submissions from the message queue."""
