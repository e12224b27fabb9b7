"""What a change is to a watcher that sees a part of the objects."""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.changes import Change, ObjectState
from dashwright.common.stores.resources import StoredObject


class Transition(NamedTuple):
    """One event: ``ADDED``, ``MODIFIED`` or ``DELETED``, and the state of the object that it shows, at the version of the change."""

    type: str
    change: Change
    state: ObjectState

    @property
    def key(self) -> tuple[int, str]:
        """What the event is known by in its feed: two of the same key show the same."""
        return (self.change.resource_version, self.type)

    @property
    def body(self) -> tuple[UUID, int]:
        """Which body it shows."""
        return (self.change.uid, self.state.generation)

    def item(self, kind: Kind, spec: str) -> StoredObject:
        state, change = self.state, self.change
        return StoredObject(
            kind,
            change.uid,
            change.name,
            change.namespace,
            change.resource_version,
            state.generation,
            state.stored_version or kind.version,
            state.metadata,
            spec,
            state.status,
            title=state.title,
            folder=state.folder,
            layout=state.layout,
            subtype=state.subtype,
        )


def transition_of(change: Change, shows: Callable[[ObjectState], bool]) -> Transition | None:
    """How a watcher hears of a change that sees what ``shows`` says; None where it never saw the object and does not now.

    What enters its view is added and what leaves it is deleted, as it was when it was last in it.
    """
    old = None if change.type == "ADDED" else change.old or change.state
    is_seen = change.type != "DELETED" and shows(change.state)
    was_seen = old is not None and shows(old)
    if is_seen:
        return Transition("MODIFIED" if was_seen else "ADDED", change, change.state)
    if was_seen and old is not None:
        return Transition("DELETED", change, old)
    return None
