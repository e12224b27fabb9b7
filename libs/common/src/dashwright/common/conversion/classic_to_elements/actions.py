"""Actions of fields: requests that a user sends from a value of a panel."""

from collections.abc import Sequence
from typing import Any

from dashwright.common.conversion.classic_to_elements.members import Members, child, children, filled_texts, text


def field_action(action: Members) -> dict[str, Any]:
    """Return an action of a field."""
    converted: dict[str, Any] = {"type": text(action, "type"), "title": text(action, "title"), **filled_texts(action, "confirmation")}
    if isinstance(one_click := action.get("oneClick"), bool):
        converted["oneClick"] = one_click
    if (fetch := child(action, "fetch")) is not None:
        converted["fetch"] = _request(fetch)
    if (infinity := child(action, "infinity")) is not None:
        converted["infinity"] = {**_request(infinity), "datasourceUid": text(infinity, "datasourceUid")}
    if variables := children(action, "variables"):
        converted["variables"] = [{name: text(variable, name) for name in ("key", "name", "type")} for variable in variables]
    if (style := child(action, "style")) is not None:
        color = style.get("backgroundColor")
        converted["style"] = {"backgroundColor": color} if isinstance(color, str) else {}
    return converted


def _request(request: Members) -> dict[str, Any]:
    """Return the members that both kinds of requests have: direct ones (``fetch``) and those by a data source (``infinity``)."""
    converted: dict[str, Any] = {"method": text(request, "method"), "url": text(request, "url")}
    if isinstance(body := request.get("body"), str):
        converted["body"] = body
    for name in ("queryParams", "headers"):
        if isinstance(pairs := request.get(name), list) and pairs:
            converted[name] = _pairs(pairs)
    return converted


def _pairs(pairs: Sequence[Any]) -> list[list[str]]:
    """Return pairs of a name and a value, without anything that is not a string."""
    return [[item for item in pair if isinstance(item, str)] for pair in pairs if isinstance(pair, list)]
