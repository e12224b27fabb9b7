"""PostgreSQL: the pool and its errors, named queries, LISTEN, and migrations. The only package that opens connections.

It does not know any table: stores know what rows mean.
"""
