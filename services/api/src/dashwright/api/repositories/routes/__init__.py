"""Routes of repositories in addition to those of the resource API: jobs, files, git history, rollback, webhooks, pictures."""
