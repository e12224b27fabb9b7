"""Who was identified a moment ago: remembered for seconds, forgotten at once when a right changes, never remembered too late.

Why it is built this way: docs/decisions/0004-identity-memory.md.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from dashwright.common.clock import Clock
from dashwright.common.identity import Identity

EVERYBODY: Final = "all"
_SIZE: Final = 10_000
_SECONDS: Final = 5.0


class IdentityInvalidation(Protocol):
    """What a use case that changed rights calls after its commit and before it answers; other gateways hear it from the database.

    ``subject`` is ``user:5`` (also for a service account), ``key:7``, ``org:2`` or ``all``.
    """

    def forget(self, subject: str) -> None: ...


class _Entry(NamedTuple):
    until: float
    identity: Identity
    subjects: tuple[str, ...]


class IdentityCache:
    """Identities by a digest of what they were found by, each for at most ``seconds``.

    Nothing is remembered but while changes are heard: between ``begin`` and ``suspend``. ``epoch`` moves with everything that is
    forgotten: what was looked up before is not remembered after. Whom it knew when hearing ended is told for the rest of their seconds
    to those who cannot look: while the database is away. ``clock`` is for the expiry of keys, ``monotonic`` for ages.
    """

    def __init__(
        self, clock: Clock, *, size: int = _SIZE, seconds: float = _SECONDS, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._size = size
        self._seconds = seconds
        self._monotonic = monotonic
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._by_subject: dict[str, set[bytes]] = {}
        self._forgotten: list[Callable[[str], None]] = []
        self.epoch = 0
        self.is_listening = False

    def get(self, digest: bytes) -> Identity | None:
        """Whom the digest stands for; None too when the key they came with has expired meanwhile."""
        return self._fresh(digest) if self.is_listening else None

    def last_known(self, digest: bytes) -> Identity | None:
        """The same, also while changes are not heard: only for whoever has tried to look and could not."""
        return self._fresh(digest)

    def put(self, digest: bytes, identity: Identity, *, epoch: int) -> None:
        """Remembers whom a look-up found that began at ``epoch``; nothing when something was forgotten since."""
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
        """Forgets what one digest stands for."""
        entry = self._entries.pop(digest, None)
        if entry is None:
            return
        for subject in entry.subjects:
            digests = self._by_subject[subject]
            digests.discard(digest)
            if not digests:
                del self._by_subject[subject]

    def on_forgotten(self, heard: Callable[[str], None]) -> None:
        """``heard`` is told each subject that is forgotten, remembered or not."""
        self._forgotten.append(heard)

    def forget(self, subject: str) -> None:
        """Forgets every identity the subject is part of."""
        if subject == EVERYBODY:
            self.forget_all()
            return
        self.epoch += 1
        self._tell(subject)
        for digest in tuple(self._by_subject.get(subject, ())):
            self.drop(digest)

    def forget_all(self) -> None:
        self.epoch += 1
        self._tell(EVERYBODY)
        self._entries.clear()
        self._by_subject.clear()

    def begin(self) -> None:
        """Changes are heard from now on; what was sent before was not."""
        self.forget_all()
        self.is_listening = True

    def suspend(self) -> None:
        """Changes are not heard any more."""
        self.is_listening = False
        self.epoch += 1

    def __len__(self) -> int:
        return len(self._entries)

    def _tell(self, subject: str) -> None:
        for heard in self._forgotten:
            heard(subject)

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
