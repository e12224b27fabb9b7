"""Routes of repositories beside those of the resource API: jobs, files, what their git hosts know, rollback, webhooks, pictures."""
