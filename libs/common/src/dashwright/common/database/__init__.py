"""PostgreSQL: the pool and its errors, named queries, LISTEN, and migrations. Only this package opens connections.

It does not know any table: stores know what rows mean.
"""
