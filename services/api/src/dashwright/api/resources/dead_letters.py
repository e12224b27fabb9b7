"""Dead letters in the resource API: lists in pages, and selections by labels."""

from collections.abc import Callable, Sequence
from typing import Final

from dashwright.api.dead_letters.letters import Caller
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.http.call import Call
from dashwright.api.resources.listing import MAX_READ_BYTES, ListPage, count_within
from dashwright.api.resources.options import DeleteRequest
from dashwright.api.resources.pages import ListOptions, Position
from dashwright.api.stores import dead_letters as store
from dashwright.api.stores.dead_letters import StoredDeadLetter
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Gone
from dashwright.common.stores import changes

_METADATA_BYTES: Final = 500
"""Estimate of the bytes of a letter without its message."""


def caller_of(call: Call) -> Caller:
    """Return the caller of a request in the namespace of its path."""
    return Caller.of(call.actor, call.identity, call.parameters["namespace"])


def selector_of(selection: Selection, request: DeleteRequest | None = None) -> Callable[[StoredDeadLetter], bool]:
    """Return the condition of a selection. With a delete, it raises Conflict for a selected letter that does not meet its preconditions."""

    def is_selected(letter: StoredDeadLetter) -> bool:
        if not matches(selection, letter.labels, letter.name):
            return False
        if request is not None:
            request.preconditions.check_delete(letter)
        return True

    return is_selected


class DeadLetterSource:
    """Dead letters, each in its state when its page is read."""

    def __init__(self, database: Database, caller: Caller, selection: Selection, list_options: ListOptions, *, needs_bodies: bool) -> None:
        self._database = database
        self._caller = caller
        self._selection = selection
        self._exact_version = list_options.resource_version if list_options.is_exact else None
        self._needs_bodies = needs_bodies

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return a page of letters as they are now. Raises Gone if an older version is requested.

        With bodies, a page has at most ``MAX_READ_BYTES`` of them, unless a single body is larger.
        """
        last_name: str | None = "" if position is None else position.last_name
        selected_letters: list[StoredDeadLetter] = []
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            version = await changes.latest_version(connection)
            # Every page except the last must have a letter, so pages are read until a letter matches.
            while last_name is not None and not selected_letters:
                letters, is_last = await store.page(
                    connection,
                    self._caller.namespace,
                    after=last_name,
                    limit=limit,
                    with_server_letters=self._caller.is_server_admin,
                )
                last_name = None if is_last else letters[-1].name
                selected_letters = [letter for letter in letters if matches(self._selection, letter.labels, letter.name)]
            if self._needs_bodies:
                selected_letters, last_name = await _with_bodies(connection, selected_letters, last_name)
        if self._exact_version is not None and self._exact_version < version:
            raise Gone(
                f"dead letters can be listed only at the newest version, {version}, and not at {self._exact_version}; "
                "list without a resourceVersion"
            )
        sizes = [_METADATA_BYTES + len(letter.body) for letter in selected_letters]
        return ListPage(version if position is None else position.resource_version, selected_letters, sizes, last_name)


async def _with_bodies(
    connection: Connection, letters: Sequence[StoredDeadLetter], last_name: str | None
) -> tuple[list[StoredDeadLetter], str | None]:
    """Return the first letters, with bodies of limited total size, and the name to continue after, or None after the last page."""
    count = count_within((letter.stored_bytes for letter in letters), MAX_READ_BYTES)
    if count < len(letters):
        letters, last_name = letters[:count], letters[count - 1].name
    return [*await store.with_bodies(connection, letters)], last_name
