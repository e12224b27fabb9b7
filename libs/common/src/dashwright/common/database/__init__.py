"""PostgreSQL: the pool and its errors, named queries, LISTEN, and migrations.

Only this package opens connections. It does not depend on tables, which belong to the stores.
"""
