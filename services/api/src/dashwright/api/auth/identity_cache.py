"""A cache of identified callers for a few seconds, invalidated immediately when a right changes, and the digests that are its keys.

docs/decisions/0004-identity-cache.md gives the reasons for this design.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from dashwright.common.clock import Clock
from dashwright.common.identity import Identity

ALL_SUBJECTS: Final = "all"
"""The subject of an invalidation of all identities."""

_MAX_ENTRIES: Final = 10_000
"""Default limit on the cached identities, which bounds their memory."""
_TTL_SECONDS: Final = 5.0
"""Seconds for which an identity is cached: an invalidation that is never received has an effect after this time."""


class Digests:
    """Digests under a random key of this process. Cache keys made of them reveal no credential."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def digest(self, value: str) -> bytes:
        """Return the 16-byte digest of a string."""
        return blake2b(value.encode("utf-8", "surrogateescape"), key=self._key, digest_size=16).digest()


class IdentityInvalidation(Protocol):
    """The port by which a use case invalidates cached identities after its commit and before its response.

    Other gateways are notified by the database.
    """

    def invalidate(self, subject: str) -> None:
        """Discard the identities of a subject: ``user:5`` (also a service account), ``key:7``, ``org:2`` or ``all``."""


class _Entry(NamedTuple):
    """A cached identity."""

    expires_at: float  #: Expiry of the entry, by the monotonic clock in seconds.
    identity: Identity
    subjects: tuple[str, ...]  #: Subjects whose invalidation discards the entry.


class IdentityCache:
    """A cache of identities by digest of their credentials, each for at most ``ttl_seconds``.

    It caches only while change notifications arrive, that is between ``resume`` and ``suspend``. Entries cached before ``suspend``
    remain available from ``last_known`` until they expire, for use while the database is unavailable.
    """

    def __init__(
        self, clock: Clock, *, size: int = _MAX_ENTRIES, ttl_seconds: float = _TTL_SECONDS, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Create an empty cache. ``clock`` decides the expiry of keys, ``monotonic`` that of entries."""
        self._clock = clock
        self._size = size
        self._ttl_seconds = ttl_seconds
        self._monotonic = monotonic
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._digests_by_subject: dict[str, set[bytes]] = {}
        self._callbacks: list[Callable[[str], None]] = []
        #: Increased by every invalidation. A lookup that began in an earlier epoch may have read rights that have changed since.
        self.epoch = 0
        #: Whether notifications of changed rights arrive.
        self.is_listening = False

    def get(self, digest: bytes) -> Identity | None:
        """Return the cached identity, or None if it is missing or its key has expired."""
        return self._unexpired(digest) if self.is_listening else None

    def last_known(self, digest: bytes) -> Identity | None:
        """Return the cached identity even while no notifications arrive. Call this only after a lookup failed with Unavailable."""
        return self._unexpired(digest)

    def put(self, digest: bytes, identity: Identity, *, epoch: int) -> None:
        """Cache the result of a lookup that began in ``epoch``, unless any subject was invalidated since then."""
        self.discard(digest)
        if epoch != self.epoch or not self.is_listening:
            return
        if len(self._entries) >= self._size:
            self.discard(next(iter(self._entries)))  # The oldest entry, which expires first.
        subjects = _subjects(identity)
        self._entries[digest] = _Entry(self._monotonic() + self._ttl_seconds, identity, subjects)
        for subject in subjects:
            self._digests_by_subject.setdefault(subject, set()).add(digest)

    def discard(self, digest: bytes) -> None:
        """Discard the entry of a digest, if there is one."""
        entry = self._entries.pop(digest, None)
        if entry is None:
            return
        for subject in entry.subjects:
            digests = self._digests_by_subject[subject]
            digests.discard(digest)
            if not digests:
                del self._digests_by_subject[subject]

    def on_invalidation(self, callback: Callable[[str], None]) -> None:
        """Register ``callback``. It is called with each invalidated subject, even if none of its identities is cached."""
        self._callbacks.append(callback)

    def invalidate(self, subject: str) -> None:
        """Discard every cached identity of a subject."""
        if subject == ALL_SUBJECTS:
            self.invalidate_all()
            return
        self.epoch += 1
        self._notify(subject)
        for digest in tuple(self._digests_by_subject.get(subject, ())):
            self.discard(digest)

    def invalidate_all(self) -> None:
        """Discard all identities."""
        self.epoch += 1
        self._notify(ALL_SUBJECTS)
        self._entries.clear()
        self._digests_by_subject.clear()

    def resume(self) -> None:
        """Start caching, since notifications arrive from now on."""
        # Notifications sent before the connection opened were missed.
        self.invalidate_all()
        self.is_listening = True

    def suspend(self) -> None:
        """Stop caching, since notifications do not arrive any more."""
        # Entries are kept for ``last_known``. Lookups in progress may miss an invalidation from now on, so they are not cached.
        self.is_listening = False
        self.epoch += 1

    def __len__(self) -> int:
        return len(self._entries)

    def _notify(self, subject: str) -> None:
        for callback in self._callbacks:
            callback(subject)

    def _unexpired(self, digest: bytes) -> Identity | None:
        """Return the identity of a digest, or None if its entry is missing, or the entry or the key itself has expired."""
        entry = self._entries.get(digest)
        if entry is None:
            return None
        identity = entry.identity
        is_key_expired = identity.expires_at is not None and identity.expires_at <= self._clock.seconds()
        if is_key_expired or entry.expires_at <= self._monotonic():
            self.discard(digest)
            return None
        return identity


def _subjects(identity: Identity) -> tuple[str, ...]:
    """Return the subjects whose invalidation discards an identity."""
    subjects = [f"org:{identity.org_id}"]
    if identity.user_id:
        subjects.append(f"user:{identity.user_id}")
    if identity.key_id:
        subjects.append(f"key:{identity.key_id}")
    return tuple(subjects)
