"""The expression type ``sql``: statements in MySQL's dialect, limited by an allow list and run by DuckDB in a child process.

No other package imports duckdb and sqlglot. The child process runs ``child.py``, which of
Dashwright imports only ``confinement``.
"""
