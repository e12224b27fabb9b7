"""Outcomes of panels: their states, and messages about omitted parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.transformations.matchers.fields import field_matcher

#: The maximum number of names in a list, and of characters of each name.
_MAX_LISTED: Final = 5
_MAX_LISTED_LENGTH: Final = 80


class State(StrEnum):
    """The result of drawing a panel."""

    DRAWN = "drawn"
    NO_DATA = "noData"
    PARTIAL = "partial"  #: Drawn, but something is left out.
    UNSUPPORTED = "unsupported"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PanelOutcome:
    """The drawing of a panel or of a message."""

    content: str  #: SVG.
    state: State
    message: str = ""  #: What is left out, or the reason why nothing is drawn.
    is_message: bool = False  #: True if the message is drawn as the content.
    time_note: str = ""  #: The text about the panel's own time range; empty without one.
    is_contained: bool = False  #: True if the content cannot exceed the panel.

    @property
    def note(self) -> str:
        """The text that the heading of the panel shows next to its title."""
        return "; ".join(part for part in (self.time_note, "" if self.is_message else self.message) if part)


def ignored_settings_notes(panel: Panel) -> list[str]:
    """Return notes on the settings of a panel that its drawing does not obey."""
    matchers = [object_of(override.get("matcher")) for override in panel.overrides if override.get("properties")]
    notes = []
    if unknown_steps := [step.description for step in panel.transformations if not step.is_known]:
        notes.append(f"without transformations ({_listed(unknown_steps)})")
    if unknown := sorted({str(matcher.get("id")) for matcher in matchers if not _is_known(matcher)}):
        notes.append(f"without overrides {_listed(unknown)}")
    return notes


def _is_known(matcher: Mapping[str, Any]) -> bool:
    """Return whether pictures support the matcher of an override."""
    try:
        field_matcher(matcher)
    except BadRequest:
        return False
    return True


def report(panels: Sequence[Panel], outcomes: Sequence[PanelOutcome], notices: Sequence[str]) -> bytes:
    """Return the JSON that lists the outcomes of all panels except the headings of rows."""
    entries = [_entry(panel, outcome) for panel, outcome in zip(panels, outcomes, strict=True) if panel.type != "row"]
    return orjson.dumps({"panels": entries, "notices": list(notices)})


def _entry(panel: Panel, outcome: PanelOutcome) -> dict[str, Any]:
    """Return the entry of a panel in a report."""
    entry = {"id": panel.id, "title": panel.title, "type": panel.type, "state": outcome.state.value}
    further = {"message": outcome.message, "timeInfo": outcome.time_note}
    return entry | {name: text for name, text in further.items() if text}


def _listed(names: Sequence[str]) -> str:
    """Return the distinct names as a list that fits into the heading of a panel: few of them, and shortened."""
    return ", ".join(name[:_MAX_LISTED_LENGTH] for name in list(dict.fromkeys(names))[:_MAX_LISTED])
