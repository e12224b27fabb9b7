"""What the gateway asks the jobs worker of the files of a repository, asked directly."""

import json
from typing import Any, Self

from tests.signer import SIGNER

from dashwright.common.messaging import rpc_wire
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.repository_calls import (
    ChangeMethod,
    ChangeRequest,
    ChangeResponse,
    CommitAuthor,
    EditedObject,
    EditRequest,
    EditResponse,
    FileRequest,
    FileResponse,
    FilesRequest,
)
from dashwright.common.models.repository_views import FileList
from dashwright.common.models.shape import Shape

AUTHOR = CommitAuthor(name="Ada", email="ada@example.org", uid="user:7", at=1_700_000_000)


class Calls:
    """Those about one repository of the default namespace. ``author`` asks for changes; ``is_repeated``: another worker ended over them."""

    def __init__(self, broker: MemoryBroker, name: str) -> None:
        self._rpc = RpcClient(broker, SIGNER)
        self._queue = broker.topology.repositories
        self._name = name
        self.author = AUTHOR
        self.is_repeated = False

    async def __aenter__(self) -> Self:
        await self._rpc.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rpc.close()

    async def files(self, path: str = "", ref: str = "") -> dict[str, str | None]:
        """The hashes by path."""
        found = FileList.model_validate_json(await self._ask(FilesRequest(namespace="default", name=self._name, path=path, ref=ref)))
        return {item.path: item.hash for item in found.items}

    async def file(self, path: str, ref: str = "") -> FileResponse:
        return FileResponse.model_validate_json(await self._ask(FileRequest(namespace="default", name=self._name, path=path, ref=ref)))

    async def asked(self, method: str, path: str, content: Any = None, **options: Any) -> ChangeResponse:
        """What a change would be, or with ``base`` is. A tree as content is sent as JSON."""
        text = content if content is None or isinstance(content, str) else json.dumps(content)
        request = ChangeRequest(
            namespace="default", name=self._name, method=ChangeMethod(method), path=path, content=text, author=self.author, **options
        )
        return ChangeResponse.model_validate_json(await self._ask(request))

    async def changed(self, method: str, path: str, content: Any = None, **options: Any) -> ChangeResponse:
        """A change that is looked at, then made."""
        looked = await self.asked(method, path, content, **options)
        return await self.asked(method, path, looked.content, base=looked.base, **options)

    async def edited(self, path: str, checksum: str, edited: dict[str, Any] | None, **options: Any) -> EditResponse:
        wanted = EditedObject(**{"labels": {}, "annotations": {}, **edited}) if edited else None
        request = EditRequest(
            namespace="default", name=self._name, path=path, checksum=checksum, edited=wanted, author=self.author, **options
        )
        return EditResponse.model_validate_json(await self._ask(request))

    async def _ask(self, request: Shape) -> bytes:
        headers = {rpc_wire.ATTEMPT: 2} if self.is_repeated else {}
        reply = await self._rpc.call(self._queue, request.to_json(), timeout=30, headers=headers)
        return await reply.read()


def touched(answer: ChangeResponse | FileResponse) -> list[tuple[str, str, str, str | None]]:
    """(verb, plural, name, folder), in no order."""
    return sorted(((item.verb, item.resource, item.name, item.folder) for item in answer.touches), key=str)
