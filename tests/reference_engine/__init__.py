"""Reference implementation of expressions: plain Python, one point at a time, with lists and dictionaries only.

It follows ``docs/reference/expressions.md``, ``frames.md`` and ``queries.md``, not the engine, and is simple on
purpose: it has no limits and no optimizations. Of an error, only the kind is that of the engine.

Each type of expression has a module (``math``, ``reduce``, …); ``frames``, ``graph`` and ``requests`` have the rest.
The modules ``random_…`` generate random requests, and ``agreement`` compares results. Both the engine and this reference
pass the cases in ``tests/specs``; ``tests/unit/expressions/test_random_graphs.py`` compares the two on random requests.
"""
