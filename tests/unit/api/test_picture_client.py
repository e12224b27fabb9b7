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


class Slow:
    """A service that does not respond until a test permits it."""

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.headers: dict[str, str] = {}

    async def call(self, *_: Any, **__: Any) -> Any:
        await self.let.wait()
        return self

    async def read(self) -> bytes:
        return b""


async def test_one_organization_leaves_room_for_others() -> None:
    """An organization with slow data sources delays only itself; finished pictures free their slots."""
    slow = Slow()
    broker = SimpleNamespace(topology=SimpleNamespace(pictures="pictures"))
    drawings = PictureClient(cast("Broker", broker), cast("RpcClient", slow))
    async with asyncio.TaskGroup() as group:
        drawn = [group.create_task(drawings.render("{}", PictureOptions(), QueryContext(org_id=1))) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await drawings.render("{}", PictureOptions(), QueryContext(org_id=1))
        drawn.append(group.create_task(drawings.render("{}", PictureOptions(), QueryContext(org_id=2))))
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await drawings.render("{}", PictureOptions(), QueryContext(org_id=3))
        slow.let.set()
    assert len([task.result() for task in drawn]) == 4
    await drawings.render("{}", PictureOptions(), QueryContext(org_id=1))
