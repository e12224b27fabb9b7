"""Annotations: notes on moments or spans of time, of a dashboard or of the organization. Those of a dashboard follow its access."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.scopes import ORGANIZATION_ANNOTATIONS
from dashwright.api.domain.actor import Actor
from dashwright.api.http.errors import permission_denied
from dashwright.api.stores import access, annotations, audit
from dashwright.api.stores.access import ProtectedObject
from dashwright.api.stores.annotations import Annotation, AnnotationContent, AnnotationQuery
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD

READ: Final = "annotations:read"
CREATE: Final = "annotations:create"
WRITE: Final = "annotations:write"
DELETE: Final = "annotations:delete"

LONGEST_TEXT: Final = 64 * 1024
LARGEST_DATA: Final = 64 * 1024
"""Bytes."""

MOST_TAGS: Final = 100
LONGEST_TAG: Final = 190
"""Characters."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an annotation: a dashboard by uid, or else by number; without both it is of the organization."""

    #: Takes precedence over the number.
    dashboard_uid: str = ""
    #: 0 if not given.
    dashboard_id: int = 0
    #: 0 if not given.
    panel_id: int = 0


class Annotations:
    """The annotations of a caller's current organization."""

    def __init__(self, database: Database, policy: AccessPolicy, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._clock = clock

    async def find(self, caller: Identity, query: AnnotationQuery, *, limit: int) -> Sequence[Annotation]:
        """Return the annotations that the caller may read, the newest first. Raises BadRequest for an unknown dashboard uid."""
        readable = await self._readable(caller, query)
        async with self._database.connection() as connection:
            if query.dashboard is not None:
                await _dashboard(connection, caller, Place(query.dashboard))
            return await annotations.find(connection, readable, limit=limit)

    async def tags(self, caller: Identity, containing: str, *, limit: int) -> Sequence[tuple[str, int]]:
        """Return the tags of annotations that the caller may read, and the number of annotations of each."""
        readable = await self._readable(caller, AnnotationQuery(caller.org_id))
        async with self._database.connection() as connection:
            return await annotations.tags(connection, readable, containing, limit=limit)

    async def get(self, caller: Identity, number: int) -> Annotation:
        """Return one annotation. Raises NotFound and Forbidden."""
        return await self._one(caller, READ, number)

    async def create(self, actor: Actor, caller: Identity, place: Place, content: AnnotationContent) -> int:
        """Create an annotation and return its number. Raises BadRequest for an unknown dashboard, and Forbidden."""
        async with self._database.connection() as connection:
            on = await _dashboard(connection, caller, place)
        uid, name, folder = (None, None, None) if on is None else (on.uid, on.name, on.folder)
        await self._demand(caller, CREATE, name, folder)
        async with self._database.transaction() as connection:
            number = await annotations.insert(
                connection,
                caller.org_id,
                uid,
                place.panel_id,
                caller.user_id,
                content,
                now=self._clock.milliseconds(),
            )
            if number is None:
                raise _no_dashboard("UID")
            details = {} if name is None else {"dashboard": name}
            await audit.record(connection, actor, "annotation.create", _subject(number), org_id=caller.org_id, details=details)
        return number

    async def change(self, actor: Actor, caller: Identity, number: int, content: AnnotationContent) -> None:
        """Change an annotation. Raises NotFound and Forbidden."""
        await self._one(caller, WRITE, number)
        async with self._database.transaction() as connection:
            if not await annotations.change(connection, caller.org_id, number, content, now=self._clock.milliseconds()):
                raise _not_found()
            await audit.record(connection, actor, "annotation.update", _subject(number), org_id=caller.org_id)

    async def delete(self, actor: Actor, caller: Identity, number: int) -> None:
        """Delete an annotation. Raises NotFound and Forbidden."""
        await self._one(caller, DELETE, number)
        async with self._database.transaction() as connection:
            if not await annotations.delete(connection, caller.org_id, number):
                raise _not_found()
            await audit.record(connection, actor, "annotation.delete", _subject(number), org_id=caller.org_id)

    async def delete_of_panel(self, actor: Actor, caller: Identity, place: Place) -> None:
        """Delete all annotations of a panel. Raises BadRequest for an unknown dashboard, and Forbidden."""
        async with self._database.connection() as connection:
            on = await _dashboard(connection, caller, place)
        if on is None:
            raise _no_dashboard("ID")
        await self._demand(caller, DELETE, on.name, on.folder)
        async with self._database.transaction() as connection:
            count = await annotations.delete_of_panel(connection, caller.org_id, on.uid, place.panel_id)
            if count:
                details = {"panel": place.panel_id, "count": count}
                await audit.record(connection, actor, "annotation.delete", f"dashboard:{on.name}", org_id=caller.org_id, details=details)

    async def _readable(self, caller: Identity, query: AnnotationQuery) -> AnnotationQuery:
        view = await self._policy.view(caller, caller.namespace)
        return replace(query, of_organization=caller.may(READ, ORGANIZATION_ANNOTATIONS), dashboards=view.scope_of(DASHBOARD, READ))

    async def _one(self, caller: Identity, action: str, number: int) -> Annotation:
        async with self._database.connection() as connection:
            found = await annotations.find(connection, AnnotationQuery(caller.org_id, id=number), limit=1)
        if not found:
            raise _not_found()
        await self._demand(caller, action, found[0].dashboard, found[0].folder)
        return found[0]

    async def _demand(self, caller: Identity, action: str, dashboard: str | None, folder: str | None) -> None:
        if dashboard is None:
            is_allowed = caller.may(action, ORGANIZATION_ANNOTATIONS)
        else:
            view = await self._policy.view_on(caller, caller.namespace, folder)
            is_allowed = view.may(action, DASHBOARD, dashboard, folder)
        if not is_allowed:
            raise permission_denied(action)


def normalized_tags(tags: Sequence[str]) -> Sequence[str]:
    """Return tags without surrounding blanks, empty tags and duplicates."""
    return list(dict.fromkeys(stripped for tag in tags if (stripped := tag.strip())))


def check_content(content: AnnotationContent, fault: str) -> None:
    """Raise BadRequest for content beyond the limits. ``fault`` is the message; the reason is in addition to it."""
    if content.text is not None and len(content.text.encode()) > LONGEST_TEXT:
        raise annotation_error(fault, f"the text is longer than {LONGEST_TEXT} bytes")
    if content.data is not None and len(content.data.encode()) > LARGEST_DATA:
        raise annotation_error(fault, f"the data is larger than {LARGEST_DATA} bytes")
    if content.tags is not None and len(content.tags) > MOST_TAGS:
        raise annotation_error(fault, f"there are more than {MOST_TAGS} tags")
    if content.tags is not None and any(len(tag) > LONGEST_TAG for tag in content.tags):
        raise annotation_error(fault, f"a tag is longer than {LONGEST_TAG} characters")


def annotation_error(fault: str, reason: str) -> BadRequest:
    """Return the error of a faulty annotation, with the reason in its ``error`` member."""
    return BadRequest(fault, extra={"error": reason})


async def _dashboard(connection: Connection, caller: Identity, place: Place) -> ProtectedObject | None:
    """Return the dashboard of a place, or None without one. Raises BadRequest if it does not exist."""
    uid, number = place.dashboard_uid, None if place.dashboard_uid else place.dashboard_id
    if not uid and not number:
        return None
    found = await access.find(connection, DASHBOARD, caller.namespace, uid, number)
    if found is None:
        raise _no_dashboard("UID" if uid else "ID")
    return found


def _no_dashboard(by: str) -> BadRequest:
    return BadRequest(f"Invalid dashboard {by} in annotation request")


def _not_found() -> NotFound:
    return NotFound("Annotation not found")


def _subject(number: int) -> str:
    return f"annotation:{number}"
