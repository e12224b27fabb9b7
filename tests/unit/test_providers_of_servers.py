"""Providers of servers for tests."""

from collections.abc import Callable

import pytest
from tests.servers.process import CannotProvide, ExternalServer, start_first


class FailingProvider(ExternalServer):
    """A provider that fails at its start."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self._reason = reason
        self.removed = False

    async def start(self) -> None:
        """Raise CannotProvide with the reason."""
        raise CannotProvide(self._reason)

    async def remove(self) -> None:
        """Record the removal."""
        self.removed = True


async def test_the_first_working_provider_is_used() -> None:
    """A provider that fails is cleaned up, and the next one is tried. Providers after the first that starts are not tried."""
    failing, working = FailingProvider("no Docker"), ExternalServer(url="here")
    providers: list[Callable[[], ExternalServer]] = [lambda: failing, lambda: working, lambda: pytest.fail("tried")]
    assert await start_first("RabbitMQ", providers) is working
    assert failing.removed


async def test_the_error_names_what_each_provider_lacks() -> None:
    """Without a working provider, the error names the server and the reason of each provider."""
    with pytest.raises(CannotProvide, match=r"need RabbitMQ, .*: no programs; no Docker\.$"):
        await start_first("RabbitMQ", [lambda: FailingProvider("no programs"), lambda: FailingProvider("no Docker")])
