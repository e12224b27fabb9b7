"""A second reading of the rules of expressions: plain Python, one point at a time, with lists and dictionaries and nothing else.

Written from ``docs/reference/expressions.md``, ``frames.md`` and ``queries.md``, not from the engine, and as naive as it can be: a law
stands in one place, in the order in which the text says it. There are no limits, there is no speed, and errors have kinds only.

One module a kind (``math``, ``reduce``, …) and a few that they share; ``frames``, ``graph`` and ``requests`` for what is around them.
The modules ``drawn_…`` draw random requests, and ``agreement`` tells where an answer differs. ``tests/specs`` holds the cases that the
engine and this must both answer, ``tests/unit/expressions/test_random_graphs.py`` compares the two on what was drawn.
"""
