"""Model of the change feed: writers of two namespaces, the stream of a gateway and a watcher, in every order of their steps.

It models docs/decisions/0012-change-feed-by-namespace.md, implemented in ``common/stores/changes.sql`` and ``api/changes``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

import pytest
from tests.unit.protocols.state_space import explore

WATCHED_NAMESPACE = "a"
#: Namespaces of the writers. Each writer runs one transaction.
WRITERS = ("a", "a", "b")

#: How many writers a lock excludes from each other, and how the stream finds the changes that it has not read.
LockScope = Literal["namespace", "table", "nothing"]
ReadMethod = Literal["snapshot", "version"]


@dataclass(frozen=True, slots=True)
class Row:
    """Change written by a transaction."""

    version: int
    writer: int

    @property
    def namespace(self) -> str:
        """The namespace of its writer."""
        return WRITERS[self.writer]


@dataclass(frozen=True, slots=True)
class Watcher:
    """Client that has listed the watched namespace and follows its changes."""

    #: The client has all changes of the namespace up to this version.
    version: int
    #: Position in the log of the stream; None while it has to read from the database.
    log_index: int | None = None
    #: Versions of the changes, in the order in which the client received them.
    received: tuple[int, ...] = ()
    #: Versions of the changes that the client's list includes.
    listed: frozenset[int] = frozenset()
    may_reconnect: bool = True


@dataclass(frozen=True, slots=True)
class Feed:
    """State of the database, the stream and the watcher."""

    lock_scope: LockScope = "namespace"
    read_method: ReadMethod = "snapshot"
    #: The last version that the database has given to a change.
    sequence: int = 0
    #: Per writer: ``idle``, ``locked``, ``written``, ``committed`` or ``aborted``.
    phases: tuple[str, ...] = ("idle",) * len(WRITERS)
    #: All changes, including those of transactions that have not ended or have aborted.
    rows: tuple[Row, ...] = ()
    #: Writers whose changes the stream has read.
    snapshot: frozenset[int] = frozenset()
    #: Changes in the order in which the stream has read them.
    log: tuple[Row, ...] = ()
    #: Number of log entries that the buffer has dropped.
    dropped: int = 0
    #: A version of the sequence, read before ``locked_namespaces``.
    sampled_version: int | None = None
    #: The namespaces of the writers that held a lock when the stream read the locks.
    locked_namespaces: frozenset[str] | None = None
    #: The sampled version and locked namespaces, once the stream has read all changes that were visible when the locks were read.
    settled: tuple[int, frozenset[str]] | None = None
    watcher: Watcher | None = None

    def steps(self) -> Iterator[tuple[str, Self]]:
        """Yield the steps of the writers, the stream and the watcher."""
        for writer in range(len(WRITERS)):
            yield from self._writer_steps(writer)
        yield from self._stream_steps()
        yield from self._watcher_steps()

    def _writer_steps(self, writer: int) -> Iterator[tuple[str, Self]]:
        """Yield the next steps of a transaction. Only the transaction of the first writer may abort."""
        phase = self.phases[writer]
        if phase == "idle" and not self._is_blocked(writer):
            yield f"writer {writer} locks", self._in_phase(writer, "locked")
        elif phase == "locked":
            row = Row(self.sequence + 1, writer)
            yield f"writer {writer} writes", replace(self._in_phase(writer, "written"), sequence=row.version, rows=(*self.rows, row))
        elif phase == "written":
            yield f"writer {writer} commits", self._in_phase(writer, "committed")
            if writer == 0:
                yield f"writer {writer} aborts", self._in_phase(writer, "aborted")

    def _is_blocked(self, writer: int) -> bool:
        """Return whether another writer holds the lock that a writer needs."""
        if self.lock_scope == "nothing":
            return False
        holders = [other for other, phase in enumerate(self.phases) if phase in ("locked", "written")]
        return any(self.lock_scope == "table" or WRITERS[other] == WRITERS[writer] for other in holders)

    def _in_phase(self, writer: int, phase: str) -> Self:
        """Return the state in which a writer is in another phase."""
        return replace(self, phases=(*self.phases[:writer], phase, *self.phases[writer + 1 :]))

    def _stream_steps(self) -> Iterator[tuple[str, Self]]:
        """Yield the steps of the stream: reads of changes, the two parts of a sample, and the loss of buffered changes."""
        visible = self._visible()
        if self.read_method == "snapshot":
            new_rows = [row for row in visible if row.writer not in self.snapshot]
        else:
            boundary = max((row.version for row in self.log), default=0)
            new_rows = [row for row in visible if row.version > boundary]
        is_sampled = self.locked_namespaces is not None
        if new_rows or is_sampled:
            settled = (self.sampled_version or 0, self.locked_namespaces or frozenset()) if is_sampled else self.settled
            log = (*self.log, *sorted(new_rows, key=lambda row: row.version))
            snapshot = frozenset(row.writer for row in visible)
            yield (
                "stream reads",
                replace(self, log=log, snapshot=snapshot, settled=settled, sampled_version=None, locked_namespaces=None),
            )
        if self.sampled_version is None and self.settled is None:
            yield "stream samples the sequence", replace(self, sampled_version=self.sequence)
        elif self.sampled_version is not None and self.locked_namespaces is None:
            locked = frozenset(namespace for namespace, phase in zip(WRITERS, self.phases, strict=True) if phase in ("locked", "written"))
            yield "stream reads the locks", replace(self, locked_namespaces=locked)
        if self.dropped < len(self.log):
            yield "buffer drops its changes", replace(self, dropped=len(self.log))

    def _watcher_steps(self) -> Iterator[tuple[str, Self]]:
        """Yield the list of the client, its reads from the database and the log, its bookmark, and one reconnection."""
        watcher = self.watcher
        if watcher is None:
            listed = frozenset(row.version for row in self._visible() if row.namespace == WATCHED_NAMESPACE)
            yield "client lists", replace(self, watcher=Watcher(max(listed, default=0), listed=listed))
            return
        if watcher.log_index is None or watcher.log_index < self.dropped:
            # Changes that the stream has not read yet are left out: the watcher receives them later, from the log.
            rows = [row for row in self._visible() if self._is_in_log(row)]
            yield "watcher reads the database", self._deliver(rows)
        elif watcher.log_index < len(self.log):
            yield "watcher reads the log", self._deliver(self.log[watcher.log_index :])
        elif self.settled is not None:
            settled_version, locked_namespaces = self.settled
            if WATCHED_NAMESPACE not in locked_namespaces and settled_version > watcher.version:
                yield "watcher gets a bookmark", replace(self, watcher=replace(watcher, version=settled_version))
        if watcher.may_reconnect and watcher.log_index is not None:
            yield "client reconnects", replace(self, watcher=replace(watcher, log_index=None, may_reconnect=False))

    def _is_in_log(self, row: Row) -> bool:
        """Return whether the stream regards a change as read."""
        if self.read_method == "snapshot":
            return row.writer in self.snapshot
        return row.version <= max((entry.version for entry in self.log), default=0)

    def _deliver(self, rows: list[Row] | tuple[Row, ...]) -> Self:
        """Return the state in which the watcher has received those of the changes that are newer than its version."""
        assert self.watcher is not None
        new = [
            row.version
            for row in sorted(rows, key=lambda row: row.version)
            if row.namespace == WATCHED_NAMESPACE and row.version > self.watcher.version
        ]
        version = max([self.watcher.version, *new])
        return replace(
            self, watcher=replace(self.watcher, log_index=len(self.log), version=version, received=(*self.watcher.received, *new))
        )

    def _visible(self) -> list[Row]:
        """Return the committed changes."""
        return [row for row in self.rows if self.phases[row.writer] == "committed"]

    def check(self, *, is_final: bool) -> None:
        """Raise AssertionError if a watcher misses a change, receives it twice or out of order."""
        if self.watcher is None:
            return
        known = [*sorted(self.watcher.listed), *self.watcher.received]
        assert known == sorted(set(known)), "a change is received twice or out of order"
        for row in self._visible():
            if row.namespace == WATCHED_NAMESPACE and row.version not in known:
                assert row.version > self.watcher.version, "a change appears below the version that the client has"
                assert not is_final, "a change is never received"


@pytest.mark.exhaustive
def test_each_change_is_received_once_and_in_order() -> None:
    """With a lock for each namespace and reads by snapshot, no order of steps breaks an invariant."""
    search = explore(Feed())
    assert search.violation is None
    # An error in the model that prevents steps would leave far fewer states.
    assert search.states > 100_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("read_method", ["version", "snapshot"])
def test_one_lock_for_all_namespaces_is_correct(read_method: ReadMethod) -> None:
    """With one lock for all namespaces, no order of steps breaks an invariant, for both methods of reading."""
    assert explore(Feed(lock_scope="table", read_method=read_method)).violation is None


@pytest.mark.exhaustive
@pytest.mark.parametrize(("lock_scope", "read_method"), [("namespace", "version"), ("nothing", "snapshot")])
def test_the_model_finds_what_the_other_designs_break(lock_scope: LockScope, read_method: ReadMethod) -> None:
    """Reads by version lose changes even with a lock per namespace, and reads by snapshot lose changes without a lock."""
    assert explore(Feed(lock_scope, read_method)).violation is not None
