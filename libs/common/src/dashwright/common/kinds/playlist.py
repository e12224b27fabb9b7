"""Admission and rendering of playlists."""

import re
from typing import Final

from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body, Kind, RenderedBody
from dashwright.common.kinds.naming import check_dashboard_name
from dashwright.common.kinds.settings import AdmissionSettings

MAX_TITLE_LENGTH: Final = 255
MAX_ITEMS: Final = 500
MAX_VALUE_LENGTH: Final = 255

#: Maximum number of characters of a value in an error message.
_MAX_EXCERPT_LENGTH: Final = 255

_INTERVAL: Final = re.compile(r"([0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h|d|w|M|y)){1,8}")


def admit_playlist(draft: Draft, _settings: AdmissionSettings) -> None:
    """Check a playlist. Raises BadRequest for an invalid name."""
    check_dashboard_name(draft.name)
    title, interval, items = draft.spec["title"], draft.spec["interval"], draft.spec["items"]
    if not title.strip():
        draft.required("spec.title", "give the playlist a title")
    elif len(title) > MAX_TITLE_LENGTH:
        draft.invalid("spec.title", title[:_MAX_EXCERPT_LENGTH], f"must have at most {MAX_TITLE_LENGTH} characters")
    if _INTERVAL.fullmatch(interval) is None:
        draft.invalid("spec.interval", interval[:_MAX_EXCERPT_LENGTH], "must be a duration such as 30s, 5m or 1h30m")
    if len(items) > MAX_ITEMS:
        draft.invalid("spec.items", len(items), f"must have at most {MAX_ITEMS} items")
    for index, item in enumerate(items[:MAX_ITEMS]):
        if not item["value"] or len(item["value"]) > MAX_VALUE_LENGTH:
            excerpt = item["value"][:_MAX_EXCERPT_LENGTH]
            draft.invalid(f"spec.items[{index}].value", excerpt, f"must have 1 to {MAX_VALUE_LENGTH} characters")


def render_playlist(_kind: Kind, body: Body, _version: str) -> RenderedBody:
    """Return a playlist with an empty status, which clients of Grafana expect."""
    return RenderedBody(body.spec, "{}")
