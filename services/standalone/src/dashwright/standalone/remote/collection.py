"""The objects of one kind on a server: read, followed, changed and deleted as documents."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from dashwright.common.errors import NotFound, SourceFailed
from dashwright.common.kinds.kind import Kind
from dashwright.standalone.remote.client import WATCH_SECONDS, ServerClient

_PAGE_SIZE: Final = 500
#: Number of failed reads in a row after which a watch is given up.
_MAX_ATTEMPTS: Final = 5

Document = Mapping[str, Any]


class Collection:
    """The objects of a kind in the namespace of a client. The methods raise the errors of the client."""

    def __init__(self, client: ServerClient, kind: Kind) -> None:
        self._client = client
        self._kind = kind
        self._url = client.url_of(kind)

    async def list(self, selector: str = "", *, accept: str = "application/json") -> AsyncIterator[dict[str, Any]]:
        """Yield the pages of the list of the objects that a label selector selects. ``accept`` chooses the format of the pages."""
        query = {"limit": str(_PAGE_SIZE)} | ({"labelSelector": selector} if selector else {})
        while True:
            page = await self._client.request("GET", self._url, query=query, accept=accept)
            yield page
            continue_token = (page.get("metadata") or {}).get("continue")
            if not continue_token:
                return
            query["continue"] = continue_token

    async def get(self, name: str) -> Document:
        """Return the object with a name."""
        return await self._client.request("GET", self._url / name)

    async def post(self, *path: str, body: Any = None, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the response to a POST to a path below the collection, such as that of a subresource."""
        return await self._client.request("POST", self._url.joinpath(*path), query=query, body=body)

    async def delete(self, name: str, *, resource_version: str = "", dry_run: bool = False) -> None:
        """Delete an object. Raises Conflict if the object has another version than a given ``resource_version``."""
        body = {"preconditions": {"resourceVersion": resource_version}} if resource_version else None
        await self._client.request("DELETE", self._url / name, query=dry_run_query(dry_run=dry_run), body=body)

    async def delete_selected(self, selector: str) -> None:
        """Delete the objects that a label selector selects, or all if it is empty."""
        await self._client.request("DELETE", self._url, query={"labelSelector": selector} if selector else None)

    async def follow(self, name: str, has_ended: Callable[[Document], bool]) -> AsyncIterator[Document]:
        """Yield the object in its current state, then after each change, until ``has_ended`` returns true, across lost connections.

        Raises NotFound if the object does not exist or is deleted, and SourceFailed if reads fail five times in a row.
        """
        failures = 0
        while True:
            try:
                document = await self.get(name)
                failures = 0
                yield document
                if has_ended(document):
                    return
                async for changed_document in self._changes(document):
                    yield changed_document
                    if has_ended(changed_document):
                        return
            except SourceFailed:
                failures += 1
                if failures == _MAX_ATTEMPTS:
                    raise
                # Wait longer after each failure in a row; a successful read resets the count.
                await asyncio.sleep(failures)

    async def _changes(self, document: Document) -> AsyncIterator[Document]:
        """Yield an object after each change. Raises NotFound if it is deleted.

        The iteration ends after a few minutes, or when the server cannot resume from the resource version.
        """
        name, version = document["metadata"]["name"], document["metadata"]["resourceVersion"]
        query = {"watch": "true", "fieldSelector": f"metadata.name={name}", "resourceVersion": version}
        async for event in self._client.stream(self._url, query | {"timeoutSeconds": str(WATCH_SECONDS)}):
            match event.get("type"):
                case "ADDED" | "MODIFIED":
                    yield event["object"]
                case "DELETED":
                    raise NotFound(f"the {self._kind.singular} {name} was deleted")
                case "ERROR":
                    return


def dry_run_query(*, dry_run: bool) -> dict[str, str]:
    """Return the query parameters of a request that may be a dry run."""
    return {"dryRun": "All"} if dry_run else {}
