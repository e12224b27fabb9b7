"""The data source PostgreSQL. It runs one read-only statement as a role that may only read, and returns a frame.

It contains the macros of statements, the checks of statements and roles, connections, and the conversion of rows to
frames. No other package of the service imports asyncpg.
"""
