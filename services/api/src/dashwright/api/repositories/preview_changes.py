"""The changes of a dashboard as a preview shows them: panel by panel, with a picture before and after the change."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashwright.api.pictures.page_grid import PictureAddress, ShownPanel, panel_at_half_width
from dashwright.common.dashboard_comparison import Comparison, Detail, PanelAction, PanelChange
from dashwright.common.models.dashboard_outline import DashboardOutline, OutlinePanel

MAX_PANELS: Final = 60
"""Limit on the panels that are shown with pictures; further ones are counted."""
_MAX_DETAILS: Final = 40
_MAX_CHARACTERS: Final = 2_000
_DEFAULT_COLUMNS: Final = 12
_DEFAULT_ROWS: Final = 8
_PAST_PARTICIPLES: Final = {
    PanelAction.CHANGED: "changed",
    PanelAction.ADDED: "added",
    PanelAction.REMOVED: "removed",
    PanelAction.MOVED: "moved",
}


class PreviewAddresses(NamedTuple):
    """The addresses of pictures before the change, None for a new dashboard, and after it."""

    before: PictureAddress | None
    after: PictureAddress


class ShownSettings(NamedTuple):
    """Changed settings, and the names of those whose values are not shown."""

    details: Sequence[Detail]
    other_names: str


class ShownChange(NamedTuple):
    """The change of a panel. A panel without a picture on one side has None there."""

    title: str
    action: str
    settings: ShownSettings
    before: ShownPanel | None
    after: ShownPanel | None


class ShownChanges(NamedTuple):
    """All changes of a dashboard."""

    summary: str
    settings: ShownSettings
    panels: Sequence[ShownChange]
    moved: str  #: The titles of the panels that only have another position.
    omitted_count: int


def shown_changes(comparison: Comparison, outline: DashboardOutline | None, addresses: PreviewAddresses, theme: str) -> ShownChanges:
    """Return the changes of a dashboard. Without an ``outline`` of the changed one, they have no pictures."""
    changes = [change for change in comparison.panels if change.action is not PanelAction.MOVED]
    moved = [change.title or change.id for change in comparison.panels if change.action is PanelAction.MOVED]
    panels = {panel.id: panel for section in outline.sections for panel in reversed(section.panels)} if outline else None
    return ShownChanges(
        _summary(comparison),
        _settings(comparison.details, comparison.other_names),
        [_shown_change(change, panels, addresses, theme) for change in changes[:MAX_PANELS]],
        ", ".join(moved[:MAX_PANELS]),
        max(len(changes) - MAX_PANELS, 0),
    )


def _shown_change(change: PanelChange, panels: dict[int, OutlinePanel] | None, addresses: PreviewAddresses, theme: str) -> ShownChange:
    before = after = None
    if panels is not None and change.id.isdecimal():
        default = OutlinePanel(id=int(change.id), title=change.title, type="", x=0, y=0, width=_DEFAULT_COLUMNS, height=_DEFAULT_ROWS)
        panel = panels.get(default.id, default).model_copy(update={"variables": {}})
        if change.action is not PanelAction.ADDED and addresses.before:
            before = panel_at_half_width(panel.model_copy(update={"title": f"Before: {change.title}"}), addresses.before, theme)
        if change.action is not PanelAction.REMOVED:
            after = panel_at_half_width(panel.model_copy(update={"title": f"After: {change.title}"}), addresses.after, theme)
    title = change.title.strip() or f"Panel {change.id}"
    return ShownChange(title, _PAST_PARTICIPLES[change.action], _settings(change.details, change.other_names), before, after)


def _settings(details: Sequence[Detail], other_names: Sequence[str]) -> ShownSettings:
    shown = [Detail(detail.name, _shortened(detail.before), _shortened(detail.after)) for detail in details[:_MAX_DETAILS]]
    names = [*other_names, *(detail.name for detail in details[_MAX_DETAILS:])]
    return ShownSettings(shown, ", ".join(names[:_MAX_DETAILS]) + (" and more" if len(names) > _MAX_DETAILS else ""))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _summary(comparison: Comparison) -> str:
    """Return how many panels change in which way, in words."""
    counts = [(comparison.count(action), word) for action, word in _PAST_PARTICIPLES.items()]
    words = [f"{count} {'panel' if count == 1 else 'panels'} {word}" for count, word in counts if count]
    if comparison.details or comparison.other_names:
        words.append("settings of the dashboard changed")
    return ", ".join(words) or "Nothing changes in this dashboard"
