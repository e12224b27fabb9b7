"""The parts of elements that the versions write in different shapes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class ElementsForm(NamedTuple):
    """Shapes of one version. Each function makes a part from its members, which it may keep."""

    #: Puts a query into the spec of its holder: type and uid of the data source, and the members of the query. The uid may be empty.
    put_query: Callable[[dict[str, Any], str, str, Mapping[str, Any]], None]
    #: Returns the visualization of a panel: its plugin, the plugin's version, and a spec with the other members.
    visualization: Callable[[str, str, dict[str, Any]], dict[str, Any]]
    #: Returns a transformation from its id and the other members of its spec.
    transformation: Callable[[str, dict[str, Any]], dict[str, Any]]
    #: Returns an ad hoc or group-by variable from one of ``v2alpha1``, whose data source is in its spec.
    filter_variable: Callable[[Mapping[str, Any]], Mapping[str, Any]]
