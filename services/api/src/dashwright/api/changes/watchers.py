"""Open watches by identity, so that a watch ends when its caller's rights change."""

from collections import Counter

from dashwright.api.auth.identity_cache import ALL_SUBJECTS
from dashwright.api.changes.cursor import Cursor, WakeReason
from dashwright.common.identity import Identity

IdentityKey = tuple[str, int, int]
"""Uid, organization id and API key id of a caller."""


class WatchersByIdentity:
    """Cursors of open watches, by identity.

    Cursors of equal identities share one Identity object, because many grants take much memory.
    """

    def __init__(self) -> None:
        #: The shared identity, and the cursors, by key.
        self._watches: dict[IdentityKey, tuple[Identity, set[Cursor]]] = {}
        self._counts_by_uid: Counter[str] = Counter()

    def count(self, uid: str) -> int:
        """Return the number of cursors of the caller with this uid, in all organizations and with any API key."""
        return self._counts_by_uid[uid]

    def add(self, cursor: Cursor) -> None:
        """Add a cursor."""
        shared_identity, cursors = self._watches.setdefault(_key(cursor.caller), (cursor.caller, set()))
        # The rights of a caller may have changed since the shared identity was read.
        if shared_identity == cursor.caller:
            cursor.caller = shared_identity
        cursors.add(cursor)
        self._counts_by_uid[cursor.caller.uid] += 1

    def remove(self, cursor: Cursor) -> None:
        """Remove a cursor."""
        key = _key(cursor.caller)
        _, cursors = self._watches[key]
        cursors.discard(cursor)
        if not cursors:
            del self._watches[key]
        self._counts_by_uid[cursor.caller.uid] -= 1
        if not self._counts_by_uid[cursor.caller.uid]:
            del self._counts_by_uid[cursor.caller.uid]

    def relist(self, subject: str) -> None:
        """Force the clients of a subject's watches to list again. Subjects are ``user:5``, ``key:7``, ``org:2`` and ``all``."""
        for key, (_, cursors) in list(self._watches.items()):
            if subject == ALL_SUBJECTS or subject in self._subjects(key):
                for cursor in cursors:
                    cursor.wake(WakeReason.RELIST)

    def _subjects(self, key: IdentityKey) -> tuple[str, ...]:
        """Return the subjects whose changed rights concern a caller."""
        identity, _ = self._watches[key]
        return (f"org:{identity.org_id}", f"user:{identity.user_id}", f"key:{identity.key_id}")


def _key(identity: Identity) -> IdentityKey:
    return (identity.uid, identity.org_id, identity.key_id)
