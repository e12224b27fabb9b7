"""PostgreSQL: the pool and its errors, named queries, listening, and the schema's migrations. The only package that opens connections.

Nothing here knows a table: what the rows mean is the stores' business.
"""
