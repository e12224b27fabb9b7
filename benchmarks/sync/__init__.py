"""S and M: syncs of repositories on a git host, compared with the minimum of work, and their memory.

git, its HTTP backend and PostgreSQL are the real ones.
"""
