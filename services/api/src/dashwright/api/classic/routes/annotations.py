"""``/api/annotations``: notes on moments and spans of time, of dashboards and of the organization."""

from typing import Annotated, Any, Final

from pydantic import Field

from dashwright.api.classic.annotations import (
    CREATE,
    DELETE,
    READ,
    WRITE,
    Annotations,
    Place,
    annotation_error,
    check_content,
    normalized_tags,
)
from dashwright.api.classic.routes.exact_json import Number, parse_exact
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
    AnnotationTagsAnswer,
)
from dashwright.api.models.response import Message
from dashwright.api.stores.annotations import Annotation, AnnotationContent, AnnotationQuery
from dashwright.common.document import check_texts, write_json
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.models.classic import ClassicBody, Text

_TAG: Final = "annotations"
_LIMIT: Final = 512 * 1024
"""Bytes of a body: a text and its data with each character escaped."""

_PAGE: Final = 100
_LARGEST_PAGE: Final = 1000
_NOT_SAVED: Final = "Failed to save annotation"
_NOT_UPDATED: Final = "Failed to update annotation"
_NO_GRAPHITE: Final = "Failed to save Graphite annotation"
_QUERY: Final = {
    "from": "Unix milliseconds; with to: annotations that end after this time",
    "to": "Unix milliseconds; with from: annotations that begin before this time",
    "userId": "whose",
    "alertId": "of an alert rule; matches nothing",
    "dashboardUID": "of this dashboard",
    "dashboardId": "the same by number",
    "panelId": "of this panel",
    "tags": "with this tag; may be repeated: with all of them",
    "matchAny": "true: with one of the tags",
    "type": "annotation, or alert, which matches nothing",
    "limit": "at most 1000; 100",
}
_NUMBERS: Final = ("from", "to", "userId", "alertId", "dashboardId", "panelId", "limit")

_Data = dict[str, Any] | None


class PostAnnotationCommand(ClassicBody):
    """A new annotation. Without a dashboard it belongs to the organization.

    Times are Unix milliseconds; without any it is now.
    """

    dashboard_uid: Text = Field(default="", alias="dashboardUID")
    dashboard_id: Number = 0
    panel_id: Number = 0
    #: Unix milliseconds; 0: that of ``time_end``, or now.
    time: Number = 0
    #: Unix milliseconds; 0: the same as ``time``.
    time_end: Number = 0
    text: Text = ""
    tags: list[Text] = Field(default_factory=list)
    #: Any JSON object, stored with exact numbers.
    data: _Data = None


class AnnotationChange(ClassicBody):
    """A change of an annotation. Times and ``data`` that are not given are kept."""

    #: Unix milliseconds; 0 keeps the stored time.
    time: Number = 0
    time_end: Number = 0
    text: Text = ""
    #: None keeps the stored tags in a PATCH and removes them in a PUT.
    tags: list[Text] | None = None
    data: _Data = None


class GraphiteEvent(ClassicBody):
    """An annotation as Graphite sends it. ``when`` is in Unix seconds; ``tags`` may be one text with blanks between tags."""

    what: Text = ""
    #: Unix seconds; 0: now.
    when: Annotated[Number, Field(ge=-(2**53), le=2**53)] = 0
    #: A list, or one text with blanks between tags.
    tags: list[Text] | Text | None = None
    #: Appended to the text.
    data: Text = ""


class PanelOrOne(ClassicBody):
    """The annotations to delete: all of a panel, or one."""

    dashboard_uid: Text = Field(default="", alias="dashboardUID")
    dashboard_id: Number = 0
    panel_id: Number = 0
    #: Takes precedence over the panel.
    annotation_id: Number = 0


class _Handlers:
    def __init__(self, annotations: Annotations) -> None:
        self._annotations = annotations

    async def list(self, call: Call) -> Response:
        query = call.query
        given = {name: parse_integer(query.get(name, "")) or None for name in _NUMBERS}
        if given["alertId"] or query.get("type") == "alert":
            return json_response([])
        start, end, uid = given["from"] or 0, given["to"] or 0, query.get("dashboardUID") or None
        annotation_query = AnnotationQuery(
            call.identity.org_id,
            span=(start, end) if start > 0 and end > 0 else None,
            user_id=given["userId"],
            dashboard=uid,
            dashboard_number=None if uid else given["dashboardId"],
            panel_id=given["panelId"],
            tags=normalized_tags(query.getall("tags", [])),
            any_tag=call.switch("matchAny"),
        )
        limit = call.number("limit", _PAGE, least=1, most=_LARGEST_PAGE)
        found = await self._annotations.find(call.identity, annotation_query, limit=limit)
        return Response(200, b"[" + b",".join(_encoded(annotation) for annotation in found) + b"]", may_compress=True)

    async def get(self, call: Call) -> Response:
        return Response(200, _encoded(await self._annotations.get(call.identity, _number(call))))

    async def tags(self, call: Call) -> Response:
        limit = call.number("limit", _PAGE, least=1, most=_LARGEST_PAGE)
        found = await self._annotations.tags(call.identity, call.query.get("tag", ""), limit=limit)
        return json_response(
            AnnotationTagsAnswer(result=AnnotationTags(tags=[AnnotationTag(tag=tag, count=count) for tag, count in found]))
        )

    async def create(self, call: Call) -> Response:
        given = parse_exact(await call.body(), PostAnnotationCommand)
        if not given.text:
            raise annotation_error(_NOT_SAVED, "the text must not be empty")
        content = _content(given.time, given.time_end, given.text, given.tags, given.data, fault=_NOT_SAVED)
        place = Place(given.dashboard_uid, given.dashboard_id, given.panel_id)
        return await self._added_response(call, place, content, "Annotation added")

    async def graphite(self, call: Call) -> Response:
        given = parse_exact(await call.body(), GraphiteEvent)
        if not given.what:
            raise annotation_error(_NO_GRAPHITE, "what must not be empty")
        if given.tags is None:
            raise annotation_error(_NO_GRAPHITE, "tags must be a list of texts, or one text with blanks between")
        tags = given.tags.split(" ") if isinstance(given.tags, str) else given.tags
        text = f"{given.what}\n{given.data}" if given.data else given.what
        content = _content(given.when * 1000, 0, text, tags, None, fault=_NO_GRAPHITE)
        return await self._added_response(call, Place(), content, "Graphite annotation added")

    async def replace(self, call: Call) -> Response:
        number, given = _number(call), parse_exact(await call.body(), AnnotationChange)
        content = _content(given.time, given.time_end, given.text, given.tags or [], given.data, fault=_NOT_UPDATED)
        await self._annotations.change(call.actor, call.identity, number, content)
        return message_response("Annotation updated")

    async def change(self, call: Call) -> Response:
        number, given = _number(call), parse_exact(await call.body(), AnnotationChange)
        content = _content(given.time, given.time_end, given.text or None, given.tags, given.data, fault=_NOT_UPDATED)
        await self._annotations.change(call.actor, call.identity, number, content)
        return message_response("Annotation patched")

    async def delete(self, call: Call) -> Response:
        await self._annotations.delete(call.actor, call.identity, _number(call))
        return message_response("Annotation deleted")

    async def delete_many(self, call: Call) -> Response:
        given = parse_exact(await call.body(), PanelOrOne)
        if given.annotation_id:
            await self._annotations.delete(call.actor, call.identity, given.annotation_id)
        elif given.panel_id and (given.dashboard_uid or given.dashboard_id):
            place = Place(given.dashboard_uid, given.dashboard_id, given.panel_id)
            await self._annotations.delete_of_panel(call.actor, call.identity, place)
        else:
            raise annotation_error("bad request data", "give a dashboard and a panel of it, or the number of an annotation")
        return message_response("Annotations deleted")

    async def _added_response(self, call: Call, place: Place, content: AnnotationContent, message: str) -> Response:
        number = await self._annotations.create(call.actor, call.identity, place, content)
        return json_response(AnnotationAdded(id=number, message=message))


def _number(call: Call) -> int:
    return call.integer("annotation_id", "annotationId is invalid")


def _content(time: int, time_end: int, text: str | None, tags: list[str] | None, data: _Data, *, fault: str) -> AnnotationContent:
    try:
        check_texts(data)
        written = None if data is None else write_json(data).decode()
    except Invalid as error:
        raise BadRequest(fault, extra={"error": error.message}) from error
    content = AnnotationContent(time or None, time_end or None, text, None if tags is None else normalized_tags(tags), written)
    check_content(content, fault)
    return content


def _encoded(annotation: Annotation) -> bytes:
    """Return an annotation as JSON, with its data as stored."""
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
    one = f"{path}/{{annotation_id}}"
    read, create, write, delete = (Permission(action, by_object=True) for action in (READ, CREATE, WRITE, DELETE))
    integers = dict.fromkeys(_NUMBERS, int)

    listing = Operation(
        "getAnnotations",
        "annotations, the newest first",
        _TAG,
        responses={200: list[AnnotationShape]},
        query=_QUERY,
        parameters={**integers, "matchAny": bool, "tags": list[str]},
    )
    tags = Operation(
        "getAnnotationTags",
        "the tags of annotations, and how many have each",
        _TAG,
        responses={200: AnnotationTagsAnswer},
        query={"tag": "part of a tag", "limit": "at most 1000; 100"},
        parameters={"limit": int},
    )
    number = {"annotation_id": int}
    get = Operation("getAnnotationByID", "one annotation", _TAG, responses={200: AnnotationShape}, parameters=number, errors=(404,))
    add = Operation("postAnnotation", "make an annotation", _TAG, PostAnnotationCommand, {200: AnnotationAdded})
    graphite = Operation(
        "postGraphiteAnnotation", "make one of the organization, as Graphite does", _TAG, GraphiteEvent, {200: AnnotationAdded}
    )
    replace = Operation(
        "updateAnnotation",
        "replace text and tags of an annotation",
        _TAG,
        AnnotationChange,
        {200: Message},
        parameters=number,
        errors=(404,),
    )
    change = Operation(
        "patchAnnotation", "change what is given of an annotation", _TAG, AnnotationChange, {200: Message}, parameters=number, errors=(404,)
    )
    remove = Operation("deleteAnnotationByID", "remove an annotation", _TAG, responses={200: Message}, parameters=number, errors=(404,))
    many = Operation("massDeleteAnnotations", "remove the annotations of a panel", _TAG, PanelOrOne, {200: Message}, errors=(404,))
    return [
        Route("GET", path, handlers.list, read, listing),
        Route("POST", path, handlers.create, create, add, body_limit=_LIMIT, audit="annotation.create"),
        Route("POST", f"{path}/graphite", handlers.graphite, create, graphite, body_limit=_LIMIT, audit="annotation.create"),
        Route("POST", f"{path}/mass-delete", handlers.delete_many, delete, many, audit="annotation.delete"),
        Route("GET", f"{path}/tags", handlers.tags, read, tags),
        Route("GET", one, handlers.get, read, get),
        Route("PUT", one, handlers.replace, write, replace, body_limit=_LIMIT, audit="annotation.update"),
        Route("PATCH", one, handlers.change, write, change, body_limit=_LIMIT, audit="annotation.update"),
        Route("DELETE", one, handlers.delete, delete, remove, audit="annotation.delete"),
    ]
