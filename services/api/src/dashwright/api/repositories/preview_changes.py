"""The changes of a dashboard as a preview shows them: panel by panel, with a picture before and after the change."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashwright.api.pictures.page_grid import PictureAddress, ShownPanel, panel_at_half_width
from dashwright.common.dashboard_comparison import Comparison, Detail, PanelAction, PanelChange
from dashwright.common.models.dashboard_outline import DashboardOutline

MAX_PANELS: Final = 60
"""Limit on the panels that are shown with pictures; further ones are counted."""
_MAX_DETAILS: Final = 40
_MAX_CHARACTERS: Final = 2_000
_PAST_PARTICIPLES: Final = {
    PanelAction.CHANGED: "changed",
    PanelAction.ADDED: "added",
    PanelAction.REMOVED: "removed",
    PanelAction.MOVED: "moved",
}


class Side(NamedTuple):
    """A dashboard before or after a change. Without its outline, its panels have no pictures."""

    address: PictureAddress
    outline: DashboardOutline | None

    def panel(self, change: PanelChange, label: str, theme: str) -> ShownPanel | None:
        """Return the panel that a change is about, with ``label`` before its title. Returns None if it is not found."""
        panels = [panel for section in self.outline.sections for panel in section.panels] if self.outline else []
        # A panel that is stored without an id is known by its title.
        found = next((panel for panel in panels if str(panel.id) == change.id), None)
        found = found or next((panel for panel in panels if panel.stored_title == change.title), None)
        if found is None:
            return None
        # All values of a repeated panel apply, and the first copy is drawn.
        return panel_at_half_width(found.model_copy(update={"title": f"{label}: {found.title}", "variables": {}}), self.address, theme)


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


class ShownMove(NamedTuple):
    """A panel that only has another position."""

    title: str
    before: str
    after: str


class ShownChanges(NamedTuple):
    """All changes of a dashboard."""

    summary: str
    settings: ShownSettings
    panels: Sequence[ShownChange]
    moved: Sequence[ShownMove]
    omitted_count: int


def shown_changes(comparison: Comparison, before: Side, after: Side, theme: str) -> ShownChanges:
    """Return the changes of a dashboard. ``theme`` is the theme of the pictures. If it is empty, the browser of the reader chooses it."""
    changes = [change for change in comparison.panels if change.action is not PanelAction.MOVED]
    moved = [change for change in comparison.panels if change.action is PanelAction.MOVED]
    return ShownChanges(
        _summary(comparison),
        _settings(comparison.details, comparison.others),
        [_shown_change(change, before, after, theme) for change in changes[:MAX_PANELS]],
        [ShownMove(_title(change), detail.before, detail.after) for change in moved[:MAX_PANELS] for detail in change.details],
        max(len(changes) - MAX_PANELS, 0),
    )


def _shown_change(change: PanelChange, before: Side, after: Side, theme: str) -> ShownChange:
    title, settings = _title(change), _settings(change.details, change.others)
    return ShownChange(
        title,
        _PAST_PARTICIPLES[change.action],
        settings,
        None if change.action is PanelAction.ADDED else before.panel(change, "Before", theme),
        None if change.action is PanelAction.REMOVED else after.panel(change, "After", theme),
    )


def _title(change: PanelChange) -> str:
    return change.title.strip() or f"Panel {change.id}"


def _settings(details: Sequence[Detail], others: Sequence[Detail]) -> ShownSettings:
    settings = [*details, *others]
    shown = [Detail(detail.name, _shortened(detail.before), _shortened(detail.after)) for detail in settings[:_MAX_DETAILS]]
    names = [detail.name for detail in settings[_MAX_DETAILS:]]
    return ShownSettings(shown, ", ".join(names[:_MAX_DETAILS]) + (" and more" if len(names) > _MAX_DETAILS else ""))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _summary(comparison: Comparison) -> str:
    """Return the numbers of added, changed, moved and removed panels in words."""
    counts = [(comparison.count(action), word) for action, word in _PAST_PARTICIPLES.items()]
    words = [f"{count} {'panel' if count == 1 else 'panels'} {word}" for count, word in counts if count]
    if comparison.details or comparison.others:
        words.append("settings of the dashboard changed")
    return ", ".join(words) or "Nothing changes in this dashboard"
