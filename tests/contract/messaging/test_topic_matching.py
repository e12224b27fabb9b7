"""The memory broker matches routing keys with patterns as RabbitMQ does."""

import re

from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.messaging.memory import matches

_word = st.sampled_from(["a", "b", "submit"])


@given(st.lists(_word | st.sampled_from(["*", "#"]), max_size=5), st.lists(_word, max_size=5))
def test_a_key_matches_like_a_regular_expression(pattern: list[str], words: list[str]) -> None:
    """``*`` matches one word and ``#`` any number of words, like a regular expression over words that end in a dot."""
    parts = {"*": r"[^.]+\.", "#": r"([^.]+\.)*"}
    expression = "".join(parts.get(word, re.escape(word) + r"\.") for word in pattern)
    key = "".join(f"{word}." for word in words)
    assert matches(pattern, words) == bool(re.fullmatch(expression, key))
