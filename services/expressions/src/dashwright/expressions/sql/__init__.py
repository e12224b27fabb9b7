"""The expression type ``sql``: MySQL's language against an allow list, run by DuckDB in a child process.

No other package imports duckdb and sqlglot. ``child.py`` is the program of the child process and imports nothing of
Dashwright but ``confinement``.
"""
