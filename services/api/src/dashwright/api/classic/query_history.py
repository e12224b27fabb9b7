"""Use cases on the history of queries, which each user has in each organization."""

from typing import Any, Final

from dashwright.api.classic.common import new_uid
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, query_history
from dashwright.api.stores.query_history import HistoryEntry, HistoryOwner, HistoryPage, HistoryQuery
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, Forbidden, Invalid, NotFound
from dashwright.common.identity import Identity
from dashwright.common.json_documents import check_strings, write_json

MAX_QUERIES_BYTES: Final = 64 * 1024
MAX_COMMENT_LENGTH: Final = 2000


class QueryHistory:
    """The queries that a user or service account has run in its current organization."""

    def __init__(self, database: Database, clock: Clock, *, limit: int) -> None:
        """Create the use cases. ``limit`` is the number of entries that are kept for a user, in all organizations together."""
        self._database = database
        self._clock = clock
        self._limit = limit

    async def add(self, actor: Actor, caller: Identity, data_source_uid: str, queries: list[dict[str, Any]]) -> HistoryEntry:
        """Add an entry and return it. The oldest entries beyond the limit are deleted, starred ones last.

        Raises BadRequest for queries that are too large, and Forbidden for a caller who has no history.
        """
        owner, encoded_queries = _owner(caller), _encode(queries)
        async with self._database.transaction() as connection:
            # Without the lock, concurrent additions could together exceed the limit.
            await query_history.lock(connection, owner.user_id)
            await query_history.delete_surplus(connection, owner.user_id, keep=self._limit - 1)  # The new entry counts, too.
            entry = await query_history.insert(connection, owner, new_uid(), data_source_uid, encoded_queries, now=self._clock.now())
            if entry is None:
                raise Forbidden("The user was deleted, so it has no query history")
            await audit.record(connection, actor, "queryhistory.create", _audit_target(entry.uid), org_id=caller.org_id)
        return entry

    async def search(self, caller: Identity, query: HistoryQuery, *, limit: int, offset: int) -> HistoryPage:
        """Return a page of the caller's entries, the newest first by default."""
        async with self._database.connection() as connection:
            return await query_history.search(connection, _owner(caller), query, limit=limit, offset=offset)

    async def set_comment(self, actor: Actor, caller: Identity, uid: str, comment: str) -> HistoryEntry:
        """Set the comment of an entry and return the entry. Raises NotFound, and BadRequest for a long comment."""
        if len(comment) > MAX_COMMENT_LENGTH:
            raise BadRequest(f"the comment is longer than {MAX_COMMENT_LENGTH} characters; shorten it")
        return await self._change(actor, caller, uid, comment=comment)

    async def set_star(self, actor: Actor, caller: Identity, uid: str, *, is_starred: bool) -> HistoryEntry:
        """Star or unstar an entry and return it. Raises NotFound."""
        return await self._change(actor, caller, uid, is_starred=is_starred)

    async def delete(self, actor: Actor, caller: Identity, uid: str) -> int:
        """Delete an entry and return its id. Raises NotFound."""
        async with self._database.transaction() as connection:
            entry_id = await query_history.delete(connection, _owner(caller), uid)
            if entry_id is None:
                raise _not_found()
            await audit.record(connection, actor, "queryhistory.delete", _audit_target(uid), org_id=caller.org_id)
        return entry_id

    async def _change(
        self, actor: Actor, caller: Identity, uid: str, *, comment: str | None = None, is_starred: bool | None = None
    ) -> HistoryEntry:
        """Set the comment or the star of an entry (None: keep it), and return the entry. Raises NotFound."""
        async with self._database.transaction() as connection:
            entry = await query_history.change(connection, _owner(caller), uid, comment=comment, is_starred=is_starred)
            if entry is None:
                raise _not_found()
            await audit.record(connection, actor, "queryhistory.update", _audit_target(uid), org_id=caller.org_id)
        return entry


def _owner(caller: Identity) -> HistoryOwner:
    """Return the owner of the caller's history. Raises Forbidden for a caller without an account."""
    if not caller.user_id:
        raise Forbidden("Only users and service accounts have a query history; a legacy API key has none")
    return HistoryOwner(caller.user_id, caller.org_id)


def _encode(queries: list[dict[str, Any]]) -> str:
    """Return queries as JSON. Raises BadRequest if they are too large, or have a string that cannot be stored."""
    try:
        check_strings(queries)
    except Invalid as error:
        raise BadRequest(error.message) from error
    encoded_queries = write_json(queries)
    if len(encoded_queries) > MAX_QUERIES_BYTES:
        raise BadRequest(f"the queries have more than {MAX_QUERIES_BYTES} bytes; shorten them")
    return encoded_queries.decode()


def _not_found() -> NotFound:
    return NotFound("Query in query history not found")


def _audit_target(uid: str) -> str:
    return f"queryhistory:{uid}"
