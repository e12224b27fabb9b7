"""Migration of the discrete plugin to state timelines."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.json_shapes import objects_of
from dashwright.expressions.pictures.migrations.members import mappings_of_old, successor

#: Further colours of a panel are ignored.
_MAX_COLOURS: Final = 500


def migrate_discrete(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state timeline that replaces a panel of the plugin."""
    colour_maps = objects_of(panel.get("colorMaps"))
    colours_by_text = {str(item.get("text")): item.get("color") for item in colour_maps}
    # The colours apply to the texts of mappings, and to values whose own text is that of a colour.
    colours_of_values = [
        {"type": "value", "options": {str(item.get("text")): {"color": item.get("color")}}} for item in colour_maps[:_MAX_COLOURS]
    ]
    mappings = [*_coloured(mappings_of_old(panel), colours_by_text), *colours_of_values]
    show_value = "auto" if panel.get("writeLastValue") is not False or panel.get("writeAllValues") is True else "never"
    defaults = {"unit": panel.get("units"), "mappings": mappings or None, "custom": {"fillOpacity": 100}}
    return successor(panel, "state-timeline", {"showValue": show_value}, defaults)


def _coloured(mappings: list[dict[str, Any]], colours: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return mappings whose results have the colours of their texts."""
    for mapping in mappings:
        options = mapping["options"]
        for result in [options["result"]] if "result" in options else list(options.values()):
            text = result.get("text")
            if isinstance(text, str) and text in colours:
                result["color"] = colours[text]
    return mappings
