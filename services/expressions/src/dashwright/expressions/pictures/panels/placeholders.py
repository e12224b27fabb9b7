"""Sentences for panels that pictures do not draw: the content of the panel, and that the picture does not contain it."""

from collections.abc import Mapping
from typing import Final

#: The content of a panel of each type. Other types, such as those of plugins, are unknown.
_CONTENTS: Final[Mapping[str, str]] = {
    "alertGroups": "groups of alerts",
    "alertlist": "a list of alert rules",
    "annolist": "a list of annotations",
    "candlestick": "candlesticks of prices",
    "canvas": "a canvas with elements that are bound to data",
    "dashlist": "a list of dashboards",
    "datagrid": "a table for editing data",
    "debug": "details for debugging",
    "flamegraph": "a flame graph of profiles",
    "geomap": "data on a map",
    "gettingstarted": "the first steps with Grafana",
    "live": "a stream of messages",
    "news": "the news of a feed",
    "nodeGraph": "a graph of nodes and edges",
    "pluginlist": "a list of plugins",
    "traces": "the spans of a trace",
    "welcome": "a welcome to Grafana",
}


def sentence_of(panel_type: str) -> str:
    """Return the sentence that a panel shows instead of a drawing."""
    if content := _CONTENTS.get(panel_type):
        return f"This panel shows {content}, which pictures do not contain."
    return f"This panel has the type {panel_type[:80] or 'unknown'!r}, which pictures do not draw."
