"""Fixtures of the tests of expressions."""

import pytest

from dashwright.expressions.javascript import patterns


@pytest.fixture
def short_pattern_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop regular expressions after 0.1 s, so that tests do not wait the usual time for those that never end."""
    monkeypatch.setattr(patterns, "_SECONDS", 0.1)
