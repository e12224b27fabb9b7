"""Lists: one JSON text joined from the stored parts of its items, and the tokens by which a client asks for the next page."""

import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import orjson

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind

PAGE = 200
"""Objects read at once while a list without a limit is sent."""

LARGEST_PAGE = 1000
"""Objects of one page, whatever limit a client names."""

NOT_SERVED = ("watch", "labelSelector", "fieldSelector")


class ListedPage:
    """A page of any shelf: encoded items, and how to go on."""

    __slots__ = ("after", "items", "position", "remaining")

    def __init__(self, items: Sequence[bytes], position: int, after: str | None, remaining: int) -> None:
        self.items = items
        self.position = position
        self.after = after
        self.remaining = remaining


ReadPage = Callable[[str, int], Awaitable[ListedPage]]


def limit_of(call: Call) -> int | None:
    """The ``limit`` of a request; None where the client wants everything. Refuses what would silently answer something else."""
    for name in NOT_SERVED:
        if call.query.get(name) not in (None, "", "false", "0"):
            raise BadRequest(f"the query parameter {name} is not served yet; list without it")
    text = call.query.get("limit", "")
    if not text or text == "0":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadRequest(f"limit {text[:40]!r} is not a positive integer")
    return int(text)


def after_of(call: Call) -> str:
    """The name that the page before ended with, from the ``continue`` token."""
    token = call.query.get("continue", "")
    if not token:
        return ""
    try:
        after = orjson.loads(base64.urlsafe_b64decode(token))["after"]
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise BadRequest("the continue token is not one of ours; list again from the start") from error
    if not isinstance(after, str) or "\0" in after or not after.isprintable():
        raise BadRequest("the continue token is not one of ours; list again from the start")
    return after


def token(after: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps({"after": after})).decode()


def encode_page(kind: Kind, version: str, page: ListedPage) -> bytes:
    """One page as a whole list."""
    metadata: dict[str, object] = {"resourceVersion": str(page.position)}
    if page.after is not None:
        metadata |= {"continue": token(page.after), "remainingItemCount": page.remaining}
    return head(kind, version, metadata) + b",".join(page.items) + b"]}"


def head(kind: Kind, version: str, metadata: dict[str, object]) -> bytes:
    start = f'{{"kind":"{kind.kind}List","apiVersion":"{kind.api_version(version)}","metadata":'
    return start.encode() + orjson.dumps(metadata) + b',"items":['


async def stream(kind: Kind, version: str, first: ListedPage, read: ReadPage) -> AsyncIterator[bytes]:
    """Everything, a page at a time, so that memory does not grow with the list. The position is that of the first page."""
    yield head(kind, version, {"resourceVersion": str(first.position)}) + b",".join(first.items)
    after = first.after
    while after is not None:
        page = await read(after, PAGE)
        if page.items:
            yield b"," + b",".join(page.items)
        after = page.after
    yield b"]}"
