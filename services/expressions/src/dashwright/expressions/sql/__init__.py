"""SQL as a guest language: what a statement may say, what it means in DuckDB's words, and the fenced place where it runs.

A statement is MySQL's dialect over the results of a request. What may live here: the allow list, the dialect and its functions, the
tables made from results, the sandbox. Only this room knows sqlglot and duckdb.
"""
