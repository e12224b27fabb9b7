"""A cache of identified callers for a few seconds, invalidated immediately when a right changes.

docs/decisions/0004-identity-cache.md gives the reasons for this design.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from dashwright.common.clock import Clock
from dashwright.common.identity import Identity

EVERYBODY: Final = "all"
"""The subject of an invalidation of all identities."""

_SIZE: Final = 10_000
_SECONDS: Final = 5.0


class IdentityInvalidation(Protocol):
    """The port by which a use case reports changed rights, after its commit and before its response.

    Other gateways are notified by the database.
    """

    def forget(self, subject: str) -> None:
        """Drop the identities of a subject: ``user:5`` (also a service account), ``key:7``, ``org:2`` or ``all``."""


class _Entry(NamedTuple):
    until: float  #: End of the entry, by the monotonic clock.
    identity: Identity
    subjects: tuple[str, ...]  #: Subjects whose invalidation drops the entry.


class IdentityCache:
    """A cache of identities by digest of their credentials, each for at most ``seconds``.

    It caches only while change notifications arrive, that is between ``begin`` and ``suspend``. Entries that were cached before
    ``suspend`` are available from ``last_known`` for the rest of their time, for use while the database is unavailable.
    """

    def __init__(
        self, clock: Clock, *, size: int = _SIZE, seconds: float = _SECONDS, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Create an empty cache. ``clock`` decides the expiry of keys, ``monotonic`` the age of entries in seconds."""
        self._clock = clock
        self._size = size
        self._seconds = seconds
        self._monotonic = monotonic
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._by_subject: dict[str, set[bytes]] = {}
        self._forgotten: list[Callable[[str], None]] = []
        #: Moves with every invalidation. A lookup that began in an earlier epoch may have read a right that has changed since.
        self.epoch = 0
        self.is_listening = False

    def get(self, digest: bytes) -> Identity | None:
        """Return the cached identity, or None; also None if its key has expired since."""
        return self._fresh(digest) if self.is_listening else None

    def last_known(self, digest: bytes) -> Identity | None:
        """Return the cached identity even while no notifications arrive. Call it only after a lookup failed with Unavailable."""
        return self._fresh(digest)

    def put(self, digest: bytes, identity: Identity, *, epoch: int) -> None:
        """Cache the result of a lookup that began in ``epoch``, unless something was invalidated since."""
        self.drop(digest)
        if epoch != self.epoch or not self.is_listening:
            return
        if len(self._entries) >= self._size:
            self.drop(next(iter(self._entries)))
        subjects = _subjects(identity)
        self._entries[digest] = _Entry(self._monotonic() + self._seconds, identity, subjects)
        for subject in subjects:
            self._by_subject.setdefault(subject, set()).add(digest)

    def drop(self, digest: bytes) -> None:
        """Drop one entry."""
        entry = self._entries.pop(digest, None)
        if entry is None:
            return
        for subject in entry.subjects:
            digests = self._by_subject[subject]
            digests.discard(digest)
            if not digests:
                del self._by_subject[subject]

    def on_forgotten(self, callback: Callable[[str], None]) -> None:
        """Call ``callback`` with each invalidated subject, cached or not."""
        self._forgotten.append(callback)

    def forget(self, subject: str) -> None:
        """Drop every identity that the subject is part of."""
        if subject == EVERYBODY:
            self.forget_all()
            return
        self.epoch += 1
        self._notify(subject)
        for digest in tuple(self._by_subject.get(subject, ())):
            self.drop(digest)

    def forget_all(self) -> None:
        """Drop all identities."""
        self.epoch += 1
        self._notify(EVERYBODY)
        self._entries.clear()
        self._by_subject.clear()

    def begin(self) -> None:
        """Start caching: notifications arrive from now on."""
        # Notifications sent before the connection opened were missed.
        self.forget_all()
        self.is_listening = True

    def suspend(self) -> None:
        """Stop caching: notifications do not arrive any more."""
        # Entries are kept for ``last_known``. Lookups in progress may miss an invalidation from now on, so they are not cached.
        self.is_listening = False
        self.epoch += 1

    def __len__(self) -> int:
        return len(self._entries)

    def _notify(self, subject: str) -> None:
        for callback in self._forgotten:
            callback(subject)

    def _fresh(self, digest: bytes) -> Identity | None:
        entry = self._entries.get(digest)
        if entry is None:
            return None
        identity = entry.identity
        if entry.until <= self._monotonic() or (identity.expires_at is not None and identity.expires_at <= self._clock.seconds()):
            self.drop(digest)
            return None
        return identity


def _subjects(identity: Identity) -> tuple[str, ...]:
    subjects = [f"org:{identity.org_id}"]
    if identity.user_id:
        subjects.append(f"user:{identity.user_id}")
    if identity.key_id:
        subjects.append(f"key:{identity.key_id}")
    return tuple(subjects)
