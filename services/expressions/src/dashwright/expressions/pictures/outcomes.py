"""Outcomes of panels: what was drawn, and what was left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from dashwright.common.json_shapes import object_of
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.field_overrides import MATCHERS


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
    message: str = ""
    is_message: bool = False  #: True if the message is drawn as the content.
    time_text: str = ""  #: The time range of the panel, if it is not that of the dashboard.

    @property
    def note(self) -> str:
        """The text in the heading of the panel: its time range and the message."""
        return "; ".join(text for text in (self.time_text, "" if self.is_message else self.message) if text)


def left_out(panel: Panel) -> list[str]:
    """Return what the settings of a panel demand and its drawing lacks."""
    matchers = {str(object_of(override.get("matcher")).get("id")) for override in panel.overrides if override.get("properties")}
    problems = []
    if unknown_steps := [step.id for step in panel.transformations if not step.is_known]:
        problems.append(f"without transformations ({_listed(unknown_steps)})")
    if unknown := sorted(matchers - MATCHERS.keys()):
        problems.append(f"without overrides {_listed(unknown)}")
    return problems


def report(panels: Sequence[Panel], outcomes: Sequence[PanelOutcome], notices: Sequence[str]) -> bytes:
    """Return the JSON that lists the outcomes of all panels but the headings of rows."""
    entries = [_entry(panel, outcome) for panel, outcome in zip(panels, outcomes, strict=True) if panel.type != "row"]
    return orjson.dumps({"panels": entries, "notices": list(notices)})


def _entry(panel: Panel, outcome: PanelOutcome) -> dict[str, Any]:
    entry = {"id": panel.id, "title": panel.title, "type": panel.type, "state": outcome.state.value}
    return entry | ({"message": outcome.message} if outcome.message else {})


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:40] for name in list(dict.fromkeys(names))[:5])
