"""Errors of aio-pika, as Dashwright reports them."""

import asyncio

import pytest
from aio_pika.exceptions import AMQPConnectionError, ChannelInvalidStateError

from dashwright.common.errors import Unavailable
from dashwright.common.messaging.amqp_wire import translate_errors


@pytest.mark.parametrize(
    "error",
    [AMQPConnectionError(), ChannelInvalidStateError(), ConnectionResetError(), TimeoutError(), asyncio.CancelledError(), Exception()],
    ids=lambda error: type(error).__name__,
)
async def test_a_lost_broker_is_unavailable(error: BaseException) -> None:
    """Every error that the library raises for a lost connection or channel is retryable, also the plain Exception of aiormq."""
    with pytest.raises(Unavailable), translate_errors("Publishing"):
        raise error


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x")], ids=lambda error: type(error).__name__)
def test_other_errors_are_not_changed(error: Exception) -> None:
    """An error of the program itself is not reported as a lost broker."""
    with pytest.raises(type(error)), translate_errors("Publishing"):
        raise error
