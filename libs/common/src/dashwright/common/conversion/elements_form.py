"""The parts of elements that the versions write in different shapes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class ElementsForm(NamedTuple):
    """Shapes of one version. Each function makes a part from its members, which the part may share."""

    #: Puts a query into the spec of its holder. The arguments are that spec, the type and uid of the data source (the uid may be empty),
    #: and the members of the query.
    put_query: Callable[[dict[str, Any], str, str, Mapping[str, Any]], None]
    #: Returns the visualization of a panel from its plugin, the plugin's version, and a spec with the other members.
    visualization: Callable[[str, str, dict[str, Any]], dict[str, Any]]
    #: Returns a transformation from its id and the other members of its spec.
    transformation: Callable[[str, dict[str, Any]], dict[str, Any]]
    #: Returns an ad hoc or group-by variable from its form in ``v2alpha1``, whose spec contains the data source.
    filter_variable: Callable[[Mapping[str, Any]], Mapping[str, Any]]
