"""The data source PostgreSQL: one statement that only reads, asked as a role that may only read, answered as a frame.

What may live here: the words a statement may hold beside SQL (macros), who may ask (guard), connections, and columns as frames. This is
the only room of the service that imports asyncpg.
"""
