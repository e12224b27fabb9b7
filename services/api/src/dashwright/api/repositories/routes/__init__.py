"""Routes of repositories: jobs, files, webhooks, tests, previews and rollbacks."""
