"""Errors in messages: each class of the error tree is received as the same class with the same text."""

from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import Cause, DashwrightError
from dashwright.common.messaging.rpc_wire import decode_error, encode_error

# JSON cannot contain lone surrogates.
_text = st.text(st.characters(exclude_categories=["Cs"]))


def error_classes(root: type[DashwrightError] = DashwrightError) -> Iterator[type[DashwrightError]]:
    """Yield a class and all classes below it."""
    yield root
    for subclass in root.__subclasses__():
        yield from error_classes(subclass)


@pytest.mark.parametrize("error_class", [error for error in error_classes() if error.__module__ == "dashwright.common.errors"])
def test_every_class_of_error_is_sent_and_received(error_class: type[DashwrightError]) -> None:
    """An error of each class is received as an error of this class."""
    assert type(decode_error(encode_error(error_class("x")))) is error_class


@given(_text, _text, st.lists(st.builds(Cause, _text, _text, _text)), st.none() | st.floats(0, 1e6), st.dictionaries(_text, _text))
def test_everything_an_error_carries_arrives(
    message: str, message_id: str, causes: list[Cause], retry_after: float | None, details: dict[str, str]
) -> None:
    """An error is received with its message, message id, causes, time to wait and details, of any text."""
    error = DashwrightError(message, message_id=message_id, causes=causes, retry_after=retry_after, details=details)
    assert vars(decode_error(encode_error(error))) == vars(error)


def test_an_unknown_code_is_an_internal_error_with_its_text() -> None:
    """An error of an unknown class, which a newer worker may raise, is received as an internal error with its text."""
    body = orjson.loads(encode_error(DashwrightError("the message")))
    error = decode_error(orjson.dumps({**body, "code": "from-the-future"}))
    assert type(error) is DashwrightError
    assert error.message == "the message"
