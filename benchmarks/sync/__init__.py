"""S and M: syncs of repositories on a git host, beside the least that could be done, and the memory they take.

git, its back end over http, and PostgreSQL are the real ones.
"""
