"""Fixtures of the tests of expressions."""

import pytest

from dashwright.expressions.javascript import patterns


@pytest.fixture
def short_pattern_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop regular expressions after a tenth of the usual time, which an endless one would use up."""
    monkeypatch.setattr(patterns, "_SECONDS", 0.1)
