"""The REST API of git hosts: pull requests, comments, commit statuses, webhooks and accounts."""
