"""SQL as a guest language: what a statement may say, the tables it reads, and the fenced child process that runs it.

What may live here: the allow list and the dialect, results as tables and tables as results, and all that knows DuckDB or sqlglot.
"""
