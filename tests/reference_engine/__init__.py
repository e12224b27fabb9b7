"""A second reading of the rules of expressions: plain Python, one point at a time, with lists and dictionaries only.

It is written from ``docs/reference/expressions.md``, ``frames.md`` and ``queries.md``, not from the engine, and
deliberately naive: each law is in one place, in the order of the text. There are no limits and no optimizations, and
errors have kinds only.

There is one module a type (``math``, ``reduce``, …) and a few shared ones; ``frames``, ``graph`` and ``requests`` are
for the rest. The modules ``drawn_…`` draw random requests, and ``agreement`` finds differences. ``tests/specs`` holds
the cases that the engine and this reference must both pass; ``tests/unit/expressions/test_random_graphs.py`` compares
the two on drawn requests.
"""
