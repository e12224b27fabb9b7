"""A client of the dead letters of a server, over its HTTP API."""

import base64
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from dashwright.common.errors import SourceFailed
from dashwright.common.kinds.registry import DEAD_LETTER
from dashwright.common.models.dead_letter import DeadLetterReplay, DeadLetterSpec, DeadLetterStatus
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.collection import Collection, Document, dry_run_query

# Media types of Kubernetes: rows of cells, as kubectl prints them, and objects without spec and status.
_AS_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_AS_METADATA: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter as the server returned it."""

    name: str
    spec: DeadLetterSpec
    status: DeadLetterStatus
    #: The complete object as the server returned it.
    document: Document

    @property
    def body(self) -> bytes:
        """The stored body of the message: only the beginning of a long one."""
        return base64.b64decode(self.spec.body) if self.spec.body_encoding == "base64" else self.spec.body.encode()


class DeadLettersClient:
    """The dead letters in the namespace of a client. Every method raises the errors of the client."""

    def __init__(self, client: ServerClient) -> None:
        self._letters = Collection(client, DEAD_LETTER)

    async def documents(self, selector: str) -> list[Document]:
        """Return the selected letters with their bodies, the oldest first."""
        return [item async for page in self._letters.list(selector) for item in page.get("items") or []]

    async def rows(self, selector: str) -> AsyncIterator[Sequence[str]]:
        """Yield the names of the columns that the server chose, and then a row for each selected letter, the oldest first."""
        is_first = True
        async for page in self._letters.list(selector, accept=_AS_TABLE):
            if is_first:
                yield [column["name"] for column in page["columnDefinitions"]]
                is_first = False
            for row in page.get("rows") or []:
                yield ["" if cell is None else str(cell) for cell in row["cells"]]

    async def names(self, selector: str) -> list[str]:
        """Return the names of the selected letters."""
        pages = self._letters.list(selector, accept=_AS_METADATA)
        return [item["metadata"]["name"] async for page in pages for item in page.get("items") or []]

    async def letter(self, name: str) -> DeadLetter:
        """Return the letter with a name."""
        return _parse_letter(await self._letters.get(name))

    async def replay(self, name: str, *, dry_run: bool) -> DeadLetter:
        """Replay a letter unless that was done before, and return it. Raises Conflict if it cannot be replayed."""
        return _parse_letter(await self._letters.post(name, "replay", query=dry_run_query(dry_run=dry_run)))

    async def replay_selected(self, selector: str, *, dry_run: bool) -> AsyncIterator[DeadLetterReplay]:
        """Replay the selected letters in several requests, and yield the result so far after each.

        Letters that arrive between these requests may be replayed too. The requests end at the latest when as many letters
        were replayed as the first request selected.
        """
        query = dry_run_query(dry_run=dry_run) | ({"labelSelector": selector} if selector else {})
        replayed, initial_count = 0, 0
        while True:
            try:
                result = DeadLetterReplay.model_validate(await self._letters.post("replay", query=query))
            except ValidationError as error:
                raise _unknown_format() from error
            initial_count = initial_count or result.replayed + result.remaining
            replayed += result.replayed
            yield result.model_copy(update={"replayed": replayed})
            # Replayed messages that fail again become new letters, so without the initial count the loop might not end.
            if not result.replayed or not result.remaining or replayed >= initial_count:
                return

    async def discard(self, name: str, *, dry_run: bool) -> None:
        """Delete a letter."""
        await self._letters.delete(name, dry_run=dry_run)

    async def discard_selected(self, selector: str) -> None:
        """Delete the selected letters."""
        await self._letters.delete_selected(selector)


def _parse_letter(item: Document) -> DeadLetter:
    """Return the letter in a document. Raises SourceFailed if the document has another form."""
    try:
        spec, status = DeadLetterSpec.model_validate(item["spec"]), DeadLetterStatus.model_validate(item["status"])
        return DeadLetter(item["metadata"]["name"], spec, status, item)
    except (KeyError, TypeError, ValidationError) as error:
        raise _unknown_format() from error


def _unknown_format() -> SourceFailed:
    """Return the error of a response that this version cannot parse."""
    return SourceFailed("the server returned a dead letter in an unknown format: is it a different version?")
