"""The changes of a dashboard as a preview shows them: panel by panel, with a picture before and after the change."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashwright.api.http.paging import Paging
from dashwright.api.pictures.page_grid import PictureAddress, ShownPanel, panel_at_half_width
from dashwright.api.repositories.setting_lines import SettingLines, setting_lines
from dashwright.common.dashboard_comparison import Comparison, Detail, PanelAction, PanelChange
from dashwright.common.models.dashboard_outline import DashboardOutline

MAX_PANELS: Final = 60
"""Limit on the panels of one page that are shown with pictures."""
_MAX_MOVED: Final = 500
"""Limit on the moved panels that are listed."""
_MAX_DETAILS: Final = 40
"""Limit on the changed settings of one panel that are shown with their values. As many again are shown by name only."""
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
        changed_panel = next((panel for panel in panels if str(panel.id) == change.id), None)
        changed_panel = changed_panel or next((panel for panel in panels if panel.stored_title == change.title), None)
        if changed_panel is None:
            return None
        # ``variables`` select one copy of a repeated panel. The change applies to all copies, so the picture shows the first one.
        return panel_at_half_width(
            changed_panel.model_copy(update={"title": f"{label}: {changed_panel.title}", "variables": {}}), self.address, theme
        )


class ShownSettings(NamedTuple):
    """Changed settings by name, and the names of further changed settings in one string, without their values."""

    values: Sequence[tuple[str, SettingLines]]
    other_names: str


class ShownChange(NamedTuple):
    """The change of a panel. A panel without a picture on one side has None there."""

    title: str
    #: What happened to the panel, as a past participle such as ``added``.
    action: str
    settings: ShownSettings
    before: ShownPanel | None
    after: ShownPanel | None


class ShownMove(NamedTuple):
    """A panel that only has another position."""

    title: str
    #: The former position in words.
    before: str
    #: The new position in words.
    after: str


class ShownChanges(NamedTuple):
    """All changes of a dashboard."""

    summary: str
    settings: ShownSettings
    panels: Sequence[ShownChange]
    moved: Sequence[ShownMove]
    #: The number of moved panels that are not shown.
    omitted_moves: int
    paging: Paging


def changed_panels(comparison: Comparison) -> list[PanelChange]:
    """Return the changes of panels that do more than move."""
    return [change for change in comparison.panels if change.action is not PanelAction.MOVED]


def shown_changes(comparison: Comparison, before: Side, after: Side, theme: str, paging: Paging) -> ShownChanges:
    """Return a page of the changes of a dashboard.

    ``theme`` is the theme of the pictures. If it is empty, the browser of the reader chooses it.
    """
    first = (paging.number - 1) * MAX_PANELS
    moved = [change for change in comparison.panels if change.action is PanelAction.MOVED]
    return ShownChanges(
        _summary(comparison),
        _settings(comparison.details, comparison.other_details),
        [_shown_change(change, before, after, theme) for change in changed_panels(comparison)[first : first + MAX_PANELS]],
        # The only detail of a moved panel is its position.
        [ShownMove(_title(change), detail.before, detail.after) for change in moved[:_MAX_MOVED] for detail in change.details],
        max(len(moved) - _MAX_MOVED, 0),
        paging,
    )


def _shown_change(change: PanelChange, before: Side, after: Side, theme: str) -> ShownChange:
    title, settings = _title(change), _settings(change.details, change.other_details)
    return ShownChange(
        title,
        _PAST_PARTICIPLES[change.action],
        settings,
        None if change.action is PanelAction.ADDED else before.panel(change, "Before", theme),
        None if change.action is PanelAction.REMOVED else after.panel(change, "After", theme),
    )


def _title(change: PanelChange) -> str:
    return change.title.strip() or f"Panel {change.id}"


def _settings(details: Sequence[Detail], other_details: Sequence[Detail]) -> ShownSettings:
    """Return the changed settings, up to ``_MAX_DETAILS`` with their values, and as many again by name.

    The values of ``other_details`` are JSON, so these settings come last.
    """
    settings = [*details, *other_details]
    named_lines = [(detail.name, setting_lines(detail.before, detail.after)) for detail in settings[:_MAX_DETAILS]]
    names = [detail.name for detail in settings[_MAX_DETAILS:]]
    return ShownSettings(named_lines, ", ".join(names[:_MAX_DETAILS]) + (" and more" if len(names) > _MAX_DETAILS else ""))


def _summary(comparison: Comparison) -> str:
    """Return the numbers of added, changed, moved and removed panels in words."""
    counts = [(comparison.count(action), word) for action, word in _PAST_PARTICIPLES.items()]
    words = [f"{count} {'panel' if count == 1 else 'panels'} {word}" for count, word in counts if count]
    if comparison.details or comparison.other_details:
        words.append("settings of the dashboard changed")
    return ", ".join(words) or "Nothing changes in this dashboard"
