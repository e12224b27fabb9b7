"""A client that calls the jobs worker about the files of a repository, as the gateway does."""

import json
from typing import Any, Self

from tests.signer import SIGNER

from dashwright.common.messaging import rpc_wire
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.api_model import ApiModel
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

#: The author of changes, as the gateway sends it.
AUTHOR = CommitAuthor(name="Ada", email="ada@example.org", uid="user:7", at=1_700_000_000)


class Calls:
    """Calls about the files of one repository of the default namespace."""

    def __init__(self, broker: MemoryBroker, name: str) -> None:
        self._rpc = RpcClient(broker, SIGNER)
        self._queue = broker.topology.repositories
        self._name = name
        #: The author of changes.
        self.author = AUTHOR
        #: Whether each call looks like a redelivery after the worker that received it first has ended.
        self.is_repeated = False

    async def __aenter__(self) -> Self:
        await self._rpc.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rpc.close()

    async def files(self, path: str = "", ref: str = "") -> dict[str, str | None]:
        """Return the hashes of the files by path."""
        listing = FileList.model_validate_json(
            await self._send_request(FilesRequest(namespace="default", name=self._name, path=path, ref=ref))
        )
        return {item.path: item.hash for item in listing.items}

    async def file(self, path: str, ref: str = "") -> FileResponse:
        """Return a file with its objects."""
        return FileResponse.model_validate_json(
            await self._send_request(FileRequest(namespace="default", name=self._name, path=path, ref=ref))
        )

    async def request_change(self, method: str, path: str, content: Any = None, **options: Any) -> ChangeResponse:
        """Plan a change, or execute it if ``base`` is that of its plan. Content other than text is sent as JSON."""
        text = content if content is None or isinstance(content, str) else json.dumps(content)
        request = ChangeRequest(
            namespace="default", name=self._name, method=ChangeMethod(method), path=path, content=text, author=self.author, **options
        )
        return ChangeResponse.model_validate_json(await self._send_request(request))

    async def plan_and_change(self, method: str, path: str, content: Any = None, **options: Any) -> ChangeResponse:
        """Plan a change and then execute it."""
        planned = await self.request_change(method, path, content, **options)
        return await self.request_change(method, path, planned.content, base=planned.base, **options)

    async def edit_object(self, path: str, checksum: str, edited: dict[str, Any] | None, **options: Any) -> EditResponse:
        """Edit the object of the file with this checksum, or delete the object if ``edited`` is None."""
        body = EditedObject(**{"labels": {}, "annotations": {}, **edited}) if edited else None
        request = EditRequest(
            namespace="default", name=self._name, path=path, checksum=checksum, edited=body, author=self.author, **options
        )
        return EditResponse.model_validate_json(await self._send_request(request))

    async def _send_request(self, request: ApiModel) -> bytes:
        """Send a call to the queue and return the reply. A repeated call is a second attempt."""
        headers = {rpc_wire.ATTEMPT: 2} if self.is_repeated else {}
        reply = await self._rpc.call(self._queue, request.to_json(), timeout=30, headers=headers)
        return await reply.read()


def sorted_touches(response: ChangeResponse | FileResponse) -> list[tuple[str, str, str, str | None]]:
    """Return verb, resource, name and folder of each object that a change touches."""
    return sorted(((item.verb, item.resource, item.name, item.folder) for item in response.touches), key=str)
