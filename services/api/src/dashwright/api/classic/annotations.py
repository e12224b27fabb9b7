"""Use cases on annotations, which are notes on a time or time range of a dashboard or of the organization.

The access rules of a dashboard also apply to its annotations.
"""

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

# Actions of permissions.
READ: Final = "annotations:read"
CREATE: Final = "annotations:create"
WRITE: Final = "annotations:write"
DELETE: Final = "annotations:delete"

MAX_TEXT_BYTES: Final = 64 * 1024
MAX_DATA_BYTES: Final = 64 * 1024

MAX_TAGS: Final = 100
MAX_TAG_LENGTH: Final = 190
"""Limit on the characters of a tag."""


@dataclass(frozen=True, slots=True)
class AnnotationTarget:
    """The dashboard and panel that an annotation belongs to. Without a dashboard it belongs to the organization."""

    #: Takes precedence over ``dashboard_id``.
    dashboard_uid: str = ""
    #: 0 if missing.
    dashboard_id: int = 0
    #: 0: no panel.
    panel_id: int = 0


class Annotations:
    """The annotations of a caller's current organization."""

    def __init__(self, database: Database, policy: AccessPolicy, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._clock = clock

    async def find(self, caller: Identity, query: AnnotationQuery, *, limit: int) -> Sequence[Annotation]:
        """Return the annotations that the caller may read, the newest first. Raises BadRequest for an unknown dashboard uid."""
        readable_query = await self._restrict_to_readable(caller, query)
        async with self._database.connection() as connection:
            if query.dashboard is not None:  # Raises BadRequest for an unknown dashboard.
                await _find_dashboard(connection, caller, AnnotationTarget(query.dashboard))
            return await annotations.find(connection, readable_query, limit=limit)

    async def tags(self, caller: Identity, substring: str, *, limit: int) -> Sequence[tuple[str, int]]:
        """Return the tags with ``substring`` of the annotations that the caller may read, each with the number of its annotations."""
        readable_query = await self._restrict_to_readable(caller, AnnotationQuery(caller.org_id))
        async with self._database.connection() as connection:
            return await annotations.tags(connection, readable_query, substring, limit=limit)

    async def get(self, caller: Identity, annotation_id: int) -> Annotation:
        """Return one annotation. Raises NotFound and Forbidden."""
        return await self._get_permitted(caller, READ, annotation_id)

    async def create(self, actor: Actor, caller: Identity, target: AnnotationTarget, content: AnnotationContent) -> int:
        """Create an annotation and return its id. Raises BadRequest for an unknown dashboard, and Forbidden."""
        async with self._database.connection() as connection:
            dashboard = await _find_dashboard(connection, caller, target)
        object_uid, dashboard_uid, folder = (None, None, None) if dashboard is None else (dashboard.uid, dashboard.name, dashboard.folder)
        await self._require_permission(caller, CREATE, dashboard_uid, folder)
        async with self._database.transaction() as connection:
            annotation_id = await annotations.insert(
                connection,
                caller.org_id,
                object_uid,
                target.panel_id,
                caller.user_id,
                content,
                now=self._clock.milliseconds(),
            )
            if annotation_id is None:  # The dashboard was deleted since it was found.
                raise _dashboard_error("UID")
            details = {} if dashboard_uid is None else {"dashboard": dashboard_uid}
            await audit.record(connection, actor, "annotation.create", _audit_target(annotation_id), org_id=caller.org_id, details=details)
        return annotation_id

    async def change(self, actor: Actor, caller: Identity, annotation_id: int, content: AnnotationContent) -> None:
        """Change an annotation. Raises NotFound and Forbidden."""
        await self._get_permitted(caller, WRITE, annotation_id)
        async with self._database.transaction() as connection:
            if not await annotations.change(connection, caller.org_id, annotation_id, content, now=self._clock.milliseconds()):
                raise _not_found()
            await audit.record(connection, actor, "annotation.update", _audit_target(annotation_id), org_id=caller.org_id)

    async def delete(self, actor: Actor, caller: Identity, annotation_id: int) -> None:
        """Delete an annotation. Raises NotFound and Forbidden."""
        await self._get_permitted(caller, DELETE, annotation_id)
        async with self._database.transaction() as connection:
            if not await annotations.delete(connection, caller.org_id, annotation_id):
                raise _not_found()
            await audit.record(connection, actor, "annotation.delete", _audit_target(annotation_id), org_id=caller.org_id)

    async def delete_of_panel(self, actor: Actor, caller: Identity, target: AnnotationTarget) -> None:
        """Delete all annotations of a panel. Raises BadRequest for an unknown dashboard, and Forbidden."""
        async with self._database.connection() as connection:
            dashboard = await _find_dashboard(connection, caller, target)
        if dashboard is None:
            raise _dashboard_error("ID")
        await self._require_permission(caller, DELETE, dashboard.name, dashboard.folder)
        async with self._database.transaction() as connection:
            count = await annotations.delete_of_panel(connection, caller.org_id, dashboard.uid, target.panel_id)
            if count:
                details = {"panel": target.panel_id, "count": count}
                await audit.record(
                    connection, actor, "annotation.delete", f"dashboard:{dashboard.name}", org_id=caller.org_id, details=details
                )

    async def _restrict_to_readable(self, caller: Identity, query: AnnotationQuery) -> AnnotationQuery:
        """Return a query that finds only annotations that the caller may read."""
        view = await self._policy.view(caller, caller.namespace)
        return replace(
            query, include_organization=caller.may(READ, ORGANIZATION_ANNOTATIONS), dashboards=view.scope_for_action(DASHBOARD, READ)
        )

    async def _get_permitted(self, caller: Identity, action: str, annotation_id: int) -> Annotation:
        """Return an annotation. Raises NotFound, and Forbidden if the caller may not do ``action`` on it."""
        async with self._database.connection() as connection:
            matches = await annotations.find(connection, AnnotationQuery(caller.org_id, id=annotation_id), limit=1)
        if not matches:
            raise _not_found()
        annotation = matches[0]
        await self._require_permission(caller, action, annotation.dashboard, annotation.folder)
        return annotation

    async def _require_permission(self, caller: Identity, action: str, dashboard: str | None, folder: str | None) -> None:
        """Raise Forbidden unless the caller may do ``action`` on annotations of a dashboard (None: of the organization)."""
        if dashboard is None:
            is_allowed = caller.may(action, ORGANIZATION_ANNOTATIONS)
        else:
            view = await self._policy.view_on(caller, caller.namespace, folder)
            is_allowed = view.may(action, DASHBOARD, dashboard, folder)
        if not is_allowed:
            raise permission_denied(action)


def normalized_tags(tags: Sequence[str]) -> Sequence[str]:
    """Return the tags stripped of surrounding blanks, without empty tags and duplicates."""
    return list(dict.fromkeys(stripped for tag in tags if (stripped := tag.strip())))


def check_content(content: AnnotationContent, message: str) -> None:
    """Raise BadRequest with ``message``, and the reason in ``error``, if the content exceeds a limit."""
    if content.text is not None and len(content.text.encode()) > MAX_TEXT_BYTES:
        raise annotation_error(message, f"the text is longer than {MAX_TEXT_BYTES} bytes")
    if content.data is not None and len(content.data.encode()) > MAX_DATA_BYTES:
        raise annotation_error(message, f"the data is larger than {MAX_DATA_BYTES} bytes")
    if content.tags is not None and len(content.tags) > MAX_TAGS:
        raise annotation_error(message, f"there are more than {MAX_TAGS} tags")
    if content.tags is not None and any(len(tag) > MAX_TAG_LENGTH for tag in content.tags):
        raise annotation_error(message, f"a tag is longer than {MAX_TAG_LENGTH} characters")


def annotation_error(message: str, reason: str) -> BadRequest:
    """Return the error for an invalid annotation. The reason is in the ``error`` member of the response."""
    return BadRequest(message, extra={"error": reason})


async def _find_dashboard(connection: Connection, caller: Identity, target: AnnotationTarget) -> ProtectedObject | None:
    """Return the dashboard of a target, or None for the organization. Raises BadRequest for an unknown dashboard."""
    uid, dashboard_id = target.dashboard_uid, None if target.dashboard_uid else target.dashboard_id
    if not uid and not dashboard_id:
        return None
    dashboard = await access.find(connection, DASHBOARD, caller.namespace, uid, dashboard_id)
    if dashboard is None:
        raise _dashboard_error("UID" if uid else "ID")
    return dashboard


def _dashboard_error(identifier: str) -> BadRequest:
    return BadRequest(f"Invalid dashboard {identifier} in annotation request")


def _not_found() -> NotFound:
    return NotFound("Annotation not found")


def _audit_target(annotation_id: int) -> str:
    return f"annotation:{annotation_id}"
