"""A client of the batches of a server, over its HTTP API."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from dashwright.common.errors import Conflict, NotFound, SourceFailed
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import BatchItemView, BatchSpec, BatchState, BatchStatus, ItemState, ItemVerdict
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.collection import Collection

NDJSON: Final = "application/x-ndjson"
_UNFINISHED: Final = (BatchState.OPEN, BatchState.RUNNING)


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as the server returned it."""

    name: str
    #: The creation timestamp as the server returned it, in RFC 3339.
    created: str
    status: BatchStatus
    #: The complete object as the server returned it.
    document: Mapping[str, Any]

    @property
    def has_ended(self) -> bool:
        """True for a batch whose items have all ended."""
        return self.status.state not in _UNFINISHED


class BatchesClient:
    """The batches in the namespace of a client. Every method raises the errors of the client."""

    def __init__(self, client: ServerClient) -> None:
        self._client = client
        self._batches = Collection(client, BATCH)
        self._url = client.url_of(BATCH)

    async def batches(self) -> AsyncIterator[Batch]:
        """Yield the batches ordered by name."""
        async for page in self._batches.list():
            for item in page.get("items") or []:
                yield _parse_batch(item)

    async def batch(self, name: str) -> Batch:
        """Return the batch with a name."""
        return _parse_batch(await self._batches.get(name))

    async def create(self, document: Mapping[str, Any]) -> Batch:
        """Create a batch from a complete object, whose apiVersion and kind may be missing."""
        return _parse_batch(await self._batches.post(body={"apiVersion": BATCH.api_version(), "kind": BATCH.kind, **document}))

    async def ensure(self, name: str, spec: BatchSpec) -> Batch:
        """Return the batch with a name, which is created with ``spec`` if it does not exist."""
        try:
            return await self.batch(name)
        except NotFound:
            body = spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        try:
            return await self.create({"metadata": {"name": name}, "spec": body})
        except Conflict:  # Another client has created it in the meantime.
            return await self.batch(name)

    async def add(self, name: str, parts: AsyncIterable[bytes], *, close: bool) -> AsyncIterator[ItemVerdict]:
        """Add items and yield a verdict for each. If ``close`` is true, close the batch after them.

        ``parts`` are those of an NDJSON body, and need not end at the ends of lines.
        """
        query = {"close": "true"} if close else {}
        async for verdict in self._client.exchange(self._url / name / "items", query, parts, media_type=NDJSON):
            try:
                yield ItemVerdict.model_validate(verdict)
            except ValidationError as error:
                raise SourceFailed("the server returned a verdict in an unknown format: is it a different version?") from error

    async def close(self, name: str) -> Batch:
        """Close a batch, so that it accepts no more items, and return it."""
        return _parse_batch(await self._batches.post(name, "close"))

    async def cancel(self, name: str) -> Batch:
        """Cancel the items of a batch that have not ended. Return the batch as it was before."""
        return _parse_batch(await self._batches.post(name, "cancel"))

    async def retry(self, name: str, states: Sequence[ItemState] | None) -> int:
        """Retry the items that ended in one of the states, by default those that failed or were cancelled. Return their number."""
        body = {"states": [state.value for state in states]} if states else None
        return int((await self._batches.post(name, "retry", body=body))["retried"])

    async def delete(self, name: str) -> None:
        """Delete a batch, which cancels its items."""
        await self._batches.delete(name)

    async def items(self, name: str, state: ItemState | None) -> AsyncIterator[BatchItemView]:
        """Yield the items in their order; ``state`` limits them to those in a state."""
        query = {"state": state.value} if state is not None else {}
        while True:
            page = await self._client.request("GET", self._url / name / "items", query=query)
            for item in page.get("items") or []:
                yield BatchItemView.model_validate(item)
            if page.get("continue") is None:
                return
            query["continue"] = str(page["continue"])

    async def results(self, name: str, state: ItemState | None) -> AsyncIterator[dict[str, Any]]:
        """Yield the results of the items in their order; ``state`` limits them to those in a state."""
        query = {"state": state.value} if state is not None else {}
        async for result in self._client.stream(self._url / name / "results", query):
            yield result

    async def follow(self, name: str) -> AsyncIterator[Batch]:
        """Yield the batch in its current state, then after each change, until it ends.

        Raises NotFound if the batch does not exist or is deleted, and SourceFailed if reads fail five times in a row.
        """
        async for document in self._batches.follow(name, lambda document: _parse_batch(document).has_ended):
            yield _parse_batch(document)


def _parse_batch(item: Any) -> Batch:
    """Return the batch in a document. Raises SourceFailed if the document has another form."""
    try:
        metadata = item["metadata"]
        return Batch(metadata["name"], metadata["creationTimestamp"], BatchStatus.model_validate(item.get("status") or {}), item)
    except (KeyError, TypeError, ValidationError) as error:
        raise SourceFailed("the server returned a batch in an unknown format: is it a different version?") from error
