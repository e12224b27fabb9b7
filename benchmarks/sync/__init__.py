"""S and M: the time and memory of syncs of repositories on a git host, compared with minimal programs.

git, its HTTP backend and PostgreSQL are real; only the REST API of the host is simulated.
"""
