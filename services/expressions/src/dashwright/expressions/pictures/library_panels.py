"""Library panels of a dashboard, which stores only references to them: ``{"libraryPanel": {"uid": …, "name": …}}``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.sections import Repeat, Section, SourcePanel


def with_library_panels(sections: Sequence[Section], spec: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]) -> Sequence[Section]:
    """Return the sections with library panels in place of references to them.

    ``models`` are the stored library panels by uid. An exported dashboard may contain further ones (``__elements``).
    """
    elements = object_of(spec.get("__elements"))
    all_models = {**{uid: object_of(object_of(element).get("model")) for uid, element in elements.items()}, **models}
    return [replace(section, panels=[_completed(panel, all_models) for panel in section.panels]) for section in sections]


def missing_library_panel(panel: Mapping[str, Any]) -> str:
    """Return the problem of a panel whose library panel is unknown, so that it only has the reference; empty for other panels."""
    reference = object_of(panel.get("libraryPanel"))
    if not reference or panel.get("type"):
        return ""
    name = string_of(reference.get("name")) or string_of(reference.get("uid"))
    return f"the library panel {name!r:.80} does not exist in this organization, or you may not read it"


def _completed(panel: SourcePanel, models: Mapping[str, Mapping[str, Any]]) -> SourcePanel:
    """Return the panel with the members of its library panel. If that is unknown, the panel only gets its title."""
    reference = object_of(panel.source.get("libraryPanel"))
    model = models.get(string_of(reference.get("uid")))
    if not reference:
        return panel
    if not model:
        return replace(panel, source={**panel.source, "title": panel.source.get("title") or reference.get("name")})
    # The library panel determines all but the id of the panel, its position and, if it has one, its repetition.
    source = {**model, **{name: panel.source[name] for name in ("id", "libraryPanel") if name in panel.source}}
    return SourcePanel(source, panel.position, panel.repeat or Repeat.of(model, "repeat"))
