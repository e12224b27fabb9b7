"""``/api/annotations``: notes on times and time ranges of dashboards and of the organization."""

from typing import Annotated, Any, Final

from pydantic import Field

from dashwright.api.classic.annotations import (
    CREATE,
    DELETE,
    READ,
    WRITE,
    Annotations,
    AnnotationTarget,
    annotation_error,
    check_content,
    normalized_tags,
)
from dashwright.api.classic.common import Int64, parse_exact
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.annotations import (
    AnnotationAdded,
    AnnotationHead,
    AnnotationShape,
    AnnotationTag,
    AnnotationTags,
    AnnotationTagsResponse,
)
from dashwright.api.models.response import Message
from dashwright.api.stores.annotations import Annotation, AnnotationContent, AnnotationQuery
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.json_documents import check_strings, write_json
from dashwright.common.models.classic import ClassicBody, Text

_TAG: Final = "annotations"
"""Group of the operations in the description of the API."""
_BODY_LIMIT: Final = 512 * 1024
"""Limit on the bytes of a body. It suffices for the longest text and data with every character escaped."""

_PAGE_SIZE: Final = 100
_MAX_PAGE_SIZE: Final = 1000
_NOT_SAVED: Final = "Failed to save annotation"
_NOT_UPDATED: Final = "Failed to update annotation"
_GRAPHITE_NOT_SAVED: Final = "Failed to save Graphite annotation"
_QUERY_DESCRIPTIONS: Final = {
    "from": "Unix milliseconds; with to: annotations that end after this time",
    "to": "Unix milliseconds; with from: annotations that begin before this time",
    "userId": "the id of the creator",
    "alertId": "the id of an alert rule, which matches nothing",
    "dashboardUID": "the uid of the dashboard",
    "dashboardId": "the id of the dashboard",
    "panelId": "the id of the panel",
    "tags": "a tag that annotations must have; may be repeated",
    "matchAny": "true: annotations must have one of the tags instead of all",
    "type": "annotation, or alert, which matches nothing",
    "limit": "the maximum number of annotations, by default 100, at most 1000",
}
_INTEGER_PARAMETERS: Final = ("from", "to", "userId", "alertId", "dashboardId", "panelId", "limit")
"""Query parameters that are integers."""

_Data = dict[str, Any] | None


class PostAnnotationCommand(ClassicBody):
    """A new annotation. Without a dashboard it belongs to the organization.

    Times are Unix milliseconds. An annotation without times is at the present time.
    """

    dashboard_uid: Text = Field(default="", alias="dashboardUID")
    dashboard_id: Int64 = 0
    panel_id: Int64 = 0
    #: Unix milliseconds; 0: the value of ``time_end``, or the present time if that is 0, too.
    time: Int64 = 0
    #: Unix milliseconds; 0: the same as ``time``.
    time_end: Int64 = 0
    text: Text = ""
    tags: list[Text] = Field(default_factory=list)
    #: Any JSON object, stored with exact numbers.
    data: _Data = None


class AnnotationChange(ClassicBody):
    """A change of an annotation. Missing times and missing ``data`` keep their stored values."""

    #: Unix milliseconds; 0 keeps the stored time.
    time: Int64 = 0
    time_end: Int64 = 0
    text: Text = ""
    #: None keeps the stored tags in a PATCH and removes them in a PUT.
    tags: list[Text] | None = None
    data: _Data = None


class GraphiteEvent(ClassicBody):
    """An annotation as Graphite sends it. ``when`` is in Unix seconds; ``tags`` may be a string of tags separated by blanks."""

    what: Text = ""
    #: Unix seconds; 0: now.
    when: Annotated[Int64, Field(ge=-(2**53), le=2**53)] = 0  # As milliseconds, these bounds fit into 64 bits.
    #: A list of tags, or a string of tags separated by blanks.
    tags: list[Text] | Text | None = None
    #: Appended to the text.
    data: Text = ""


class AnnotationSelection(ClassicBody):
    """The annotations to delete: all annotations of a panel, or a single one."""

    dashboard_uid: Text = Field(default="", alias="dashboardUID")
    dashboard_id: Int64 = 0
    panel_id: Int64 = 0
    #: Takes precedence over the panel.
    annotation_id: Int64 = 0


class _Handlers:
    """Handlers of annotations."""

    def __init__(self, annotations: Annotations) -> None:
        self._annotations = annotations

    async def list(self, call: Call) -> Response:
        query = call.query
        # Invalid values and 0 count as missing.
        integers = {name: parse_integer(query.get(name, "")) or None for name in _INTEGER_PARAMETERS}
        # There are no alert rules, and so no annotations of them.
        if integers["alertId"] or query.get("type") == "alert":
            return json_response([])
        start, end, dashboard_uid = integers["from"] or 0, integers["to"] or 0, query.get("dashboardUID") or None
        annotation_query = AnnotationQuery(
            call.identity.org_id,
            time_range=(start, end) if start > 0 and end > 0 else None,
            user_id=integers["userId"],
            dashboard=dashboard_uid,
            dashboard_number=None if dashboard_uid else integers["dashboardId"],
            panel_id=integers["panelId"],
            tags=normalized_tags(query.getall("tags", [])),
            any_tag=call.query_flag("matchAny"),
        )
        limit = call.query_integer("limit", _PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
        annotations = await self._annotations.find(call.identity, annotation_query, limit=limit)
        return Response(200, b"[" + b",".join(_encode(annotation) for annotation in annotations) + b"]", may_compress=True)

    async def get(self, call: Call) -> Response:
        return Response(200, _encode(await self._annotations.get(call.identity, _annotation_id(call))))

    async def tags(self, call: Call) -> Response:
        limit = call.query_integer("limit", _PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
        counts = await self._annotations.tags(call.identity, call.query.get("tag", ""), limit=limit)
        tags = [AnnotationTag(tag=tag, count=count) for tag, count in counts]
        return json_response(AnnotationTagsResponse(result=AnnotationTags(tags=tags)))

    async def create(self, call: Call) -> Response:
        body = parse_exact(await call.body(), PostAnnotationCommand)
        if not body.text:
            raise annotation_error(_NOT_SAVED, "the text must not be empty")
        content = _content(body.time, body.time_end, body.text, body.tags, body.data, message=_NOT_SAVED)
        target = AnnotationTarget(body.dashboard_uid, body.dashboard_id, body.panel_id)
        return await self._add(call, target, content, "Annotation added")

    async def create_from_graphite(self, call: Call) -> Response:
        body = parse_exact(await call.body(), GraphiteEvent)
        if not body.what:
            raise annotation_error(_GRAPHITE_NOT_SAVED, "what must not be empty")
        if body.tags is None:
            raise annotation_error(_GRAPHITE_NOT_SAVED, "tags must be a list of strings, or a string of tags separated by blanks")
        tags = body.tags.split(" ") if isinstance(body.tags, str) else body.tags
        text = f"{body.what}\n{body.data}" if body.data else body.what
        content = _content(body.when * 1000, 0, text, tags, None, message=_GRAPHITE_NOT_SAVED)
        return await self._add(call, AnnotationTarget(), content, "Graphite annotation added")

    async def replace(self, call: Call) -> Response:
        annotation_id, body = _annotation_id(call), parse_exact(await call.body(), AnnotationChange)
        content = _content(body.time, body.time_end, body.text, body.tags or [], body.data, message=_NOT_UPDATED)
        await self._annotations.change(call.actor, call.identity, annotation_id, content)
        return message_response("Annotation updated")

    async def change(self, call: Call) -> Response:
        annotation_id, body = _annotation_id(call), parse_exact(await call.body(), AnnotationChange)
        # An annotation must have a text, so an empty text of a PATCH keeps the stored one.
        content = _content(body.time, body.time_end, body.text or None, body.tags, body.data, message=_NOT_UPDATED)
        await self._annotations.change(call.actor, call.identity, annotation_id, content)
        return message_response("Annotation patched")

    async def delete(self, call: Call) -> Response:
        await self._annotations.delete(call.actor, call.identity, _annotation_id(call))
        return message_response("Annotation deleted")

    async def delete_many(self, call: Call) -> Response:
        body = parse_exact(await call.body(), AnnotationSelection)
        if body.annotation_id:
            await self._annotations.delete(call.actor, call.identity, body.annotation_id)
        elif body.panel_id and (body.dashboard_uid or body.dashboard_id):
            target = AnnotationTarget(body.dashboard_uid, body.dashboard_id, body.panel_id)
            await self._annotations.delete_of_panel(call.actor, call.identity, target)
        else:
            raise annotation_error("bad request data", "give a dashboard and a panel of it, or the id of an annotation")
        return message_response("Annotations deleted")

    async def _add(self, call: Call, target: AnnotationTarget, content: AnnotationContent, message: str) -> Response:
        """Create an annotation, and return the response with its id and a message."""
        annotation_id = await self._annotations.create(call.actor, call.identity, target, content)
        return json_response(AnnotationAdded(id=annotation_id, message=message))


def _annotation_id(call: Call) -> int:
    """Return the id in the path. Raises BadRequest for another value."""
    return call.path_integer("annotation_id", "annotationId is invalid")


def _content(time: int, time_end: int, text: str | None, tags: list[str] | None, data: _Data, *, message: str) -> AnnotationContent:
    """Return the content of an annotation from the members of a body. Raises BadRequest with ``message`` if it cannot be stored."""
    try:
        check_strings(data)
        encoded_data = None if data is None else write_json(data).decode()
    except Invalid as error:
        raise BadRequest(message, extra={"error": error.message}) from error
    content = AnnotationContent(time or None, time_end or None, text, None if tags is None else normalized_tags(tags), encoded_data)
    check_content(content, message)
    return content


def _encode(annotation: Annotation) -> bytes:
    """Return an annotation as JSON. Its data is included as it is stored, so that numbers in it remain exact."""
    head = AnnotationHead(
        id=annotation.id,
        dashboard_id=annotation.dashboard_number,
        dashboard_uid=annotation.dashboard or "",
        panel_id=annotation.panel_id,
        user_id=annotation.user_id,
        created=annotation.created,
        updated=annotation.updated,
        time=annotation.time,
        time_end=annotation.time_end,
        text=annotation.text,
        tags=list(annotation.tags),
        login=annotation.login,
        email=annotation.email,
        avatar_url=avatar_url(annotation.email, annotation.login) if annotation.user_id else "",
    )
    return head.to_json()[:-1] + b',"data":' + annotation.data.encode() + b"}"


def routes(annotations: Annotations) -> list[Route]:
    """Return the routes of annotations."""
    handlers = _Handlers(annotations)
    path = "/api/annotations"
    annotation_path = f"{path}/{{annotation_id}}"
    read, create, write, delete = (Permission(action, object_rules_suffice=True) for action in (READ, CREATE, WRITE, DELETE))

    listing = Operation(
        "getAnnotations",
        "annotations, the newest first",
        _TAG,
        responses={200: list[AnnotationShape]},
        query=_QUERY_DESCRIPTIONS,
        parameters={**dict.fromkeys(_INTEGER_PARAMETERS, int), "matchAny": bool, "tags": list[str]},
    )
    tags = Operation(
        "getAnnotationTags",
        "the tags of annotations, with the number of annotations that have each",
        _TAG,
        responses={200: AnnotationTagsResponse},
        query={"tag": "part of a tag", "limit": "the maximum number of tags, by default 100, at most 1000"},
        parameters={"limit": int},
    )
    id_parameter = {"annotation_id": int}
    get = Operation("getAnnotationByID", "one annotation", _TAG, responses={200: AnnotationShape}, parameters=id_parameter, errors=(404,))
    add = Operation("postAnnotation", "create an annotation", _TAG, PostAnnotationCommand, {200: AnnotationAdded})
    graphite = Operation(
        "postGraphiteAnnotation",
        "create an annotation of the organization, in the format of Graphite",
        _TAG,
        GraphiteEvent,
        {200: AnnotationAdded},
    )
    replace = Operation(
        "updateAnnotation",
        "replace text and tags of an annotation",
        _TAG,
        AnnotationChange,
        {200: Message},
        parameters=id_parameter,
        errors=(404,),
    )
    change = Operation(
        "patchAnnotation",
        "change the members of an annotation that the body contains",
        _TAG,
        AnnotationChange,
        {200: Message},
        parameters=id_parameter,
        errors=(404,),
    )
    remove = Operation(
        "deleteAnnotationByID", "delete an annotation", _TAG, responses={200: Message}, parameters=id_parameter, errors=(404,)
    )
    delete_many = Operation(
        "massDeleteAnnotations",
        "delete all annotations of a panel, or a single one",
        _TAG,
        AnnotationSelection,
        {200: Message},
        errors=(404,),
    )
    return [
        Route("GET", path, handlers.list, read, listing),
        Route("POST", path, handlers.create, create, add, body_limit=_BODY_LIMIT, audit="annotation.create"),
        Route(
            "POST", f"{path}/graphite", handlers.create_from_graphite, create, graphite, body_limit=_BODY_LIMIT, audit="annotation.create"
        ),
        Route("POST", f"{path}/mass-delete", handlers.delete_many, delete, delete_many, audit="annotation.delete"),
        Route("GET", f"{path}/tags", handlers.tags, read, tags),
        Route("GET", annotation_path, handlers.get, read, get),
        Route("PUT", annotation_path, handlers.replace, write, replace, body_limit=_BODY_LIMIT, audit="annotation.update"),
        Route("PATCH", annotation_path, handlers.change, write, change, body_limit=_BODY_LIMIT, audit="annotation.update"),
        Route("DELETE", annotation_path, handlers.delete, delete, remove, audit="annotation.delete"),
    ]
