"""The data source PostgreSQL: one read-only statement, run by a role that may only read, as a frame.

It holds the macros of statements, the checks of statement and role (guard), connections, and columns as frames. No
other package of the service imports asyncpg.
"""
