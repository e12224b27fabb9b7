"""Open watches by identity, so that a watch ends when its caller's rights change."""

from collections import Counter

from dashwright.api.changes.cursor import Cursor, Wake
from dashwright.common.identity import Identity

_ALL_SUBJECTS = "all"

Key = tuple[str, int, int]


class WatchersByIdentity:
    """Cursors of open watches, by identity.

    Cursors of equal identities share one Identity object to save memory, since it may hold many grants.
    """

    def __init__(self) -> None:
        self._known: dict[Key, tuple[Identity, set[Cursor]]] = {}
        self._counts: Counter[str] = Counter()

    def count(self, uid: str) -> int:
        """Return the number of cursors of a caller, in all organizations and with any API key."""
        return self._counts[uid]

    def add(self, cursor: Cursor) -> None:
        """Add a cursor."""
        known, cursors = self._known.setdefault(_key(cursor.caller), (cursor.caller, set()))
        if known == cursor.caller:
            cursor.caller = known
        cursors.add(cursor)
        self._counts[cursor.caller.uid] += 1

    def remove(self, cursor: Cursor) -> None:
        """Remove a cursor."""
        key = _key(cursor.caller)
        _, cursors = self._known[key]
        cursors.discard(cursor)
        if not cursors:
            del self._known[key]
        self._counts[cursor.caller.uid] -= 1
        if not self._counts[cursor.caller.uid]:
            del self._counts[cursor.caller.uid]

    def relist(self, subject: str) -> None:
        """Force the watches of a subject (``user:5``, ``key:7``, ``org:2`` or ``all``) to list again."""
        for key, (_, cursors) in list(self._known.items()):
            if subject == _ALL_SUBJECTS or subject in self._subjects(key):
                for cursor in cursors:
                    cursor.wake(Wake.RELIST)

    def _subjects(self, key: Key) -> tuple[str, ...]:
        identity, _ = self._known[key]
        return (f"org:{identity.org_id}", f"user:{identity.user_id}", f"key:{identity.key_id}")


def _key(identity: Identity) -> Key:
    return (identity.uid, identity.org_id, identity.key_id)
