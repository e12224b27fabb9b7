"""The picture client: a few pictures are rendered concurrently, shared fairly between organizations."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dashwright.api.workers.picture_client import PictureClient
from dashwright.common.errors import TooManyRequests
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.pictures import PictureOptions
from dashwright.common.models.query_context import QueryContext


class SlowService:
    """A service of pictures that does not respond until a test permits it. It is its own RPC client and response."""

    def __init__(self) -> None:
        self.may_respond = asyncio.Event()
        self.headers: dict[str, str] = {}
        self.calls = 0

    async def call(self, *_: Any, **__: Any) -> Any:
        """Count the call, and return the service itself as the response when the test permits it."""
        self.calls += 1
        await self.may_respond.wait()
        return self

    async def read(self) -> bytes:
        """Return the body of the response."""
        return b""


async def test_an_organization_leaves_slots_for_others() -> None:
    """An organization with slow data sources delays only its own pictures. Waiting pictures are limited, and are all drawn."""
    slow = SlowService()
    broker = SimpleNamespace(topology=SimpleNamespace(pictures="pictures"))
    client = PictureClient(cast("Broker", broker), cast("RpcClient", slow))

    def render(org_id: int) -> Any:
        return client.render("{}", PictureOptions(), QueryContext(org_id=org_id))

    async with asyncio.TaskGroup() as group:
        # Three pictures of an organization are drawn concurrently, and thirty may wait.
        pictures = [group.create_task(render(1)) for _ in range(33)]
        await asyncio.sleep(0)
        assert slow.calls == 3
        # The 34th picture of the organization is refused; another organization has slots of its own.
        with pytest.raises(TooManyRequests):
            await render(1)
        pictures.append(group.create_task(render(2)))
        await asyncio.sleep(0)
        assert slow.calls == 4
        slow.may_respond.set()
    # Each of the 33 pictures of organization 1, and the picture of organization 2, has a result.
    assert len([task.result() for task in pictures]) == 34
    assert slow.calls == 34
