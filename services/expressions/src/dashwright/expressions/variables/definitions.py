"""Definitions of variables, read from a dashboard of the classic schema or of the schema with elements (``v2alpha1`` and later)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.variables.values import ALL, Option

#: Further variables are ignored.
MAX_VARIABLES: Final = 200
#: The kinds in the schema with elements whose names differ from the classic ones.
_KINDS: Final = {"text": "textbox"}
_KIND_SUFFIX: Final = "Variable"


@dataclass(frozen=True, slots=True)
class Definition:
    """A variable as a dashboard defines it."""

    name: str
    kind: str  #: As in the classic schema, such as ``query``.
    source: Mapping[str, Any]  #: The members of the definition.
    query: Any = ""
    datasource: Any = None

    @property
    def is_multi(self) -> bool:
        """True if users may select several values."""
        return self.source.get("multi") is True

    @property
    def includes_all(self) -> bool:
        """True if users may select *All*."""
        return self.source.get("includeAll") is True

    @property
    def all_value(self) -> str:
        """The text that replaces *All*; empty for all options."""
        return string_of(self.source.get("allValue"))

    @property
    def current(self) -> Mapping[str, Any]:
        """The saved selection, with ``value`` and ``text``; empty without a selection."""
        current = self.source.get("current")
        return {"value": current, "text": current} if isinstance(current, str) else object_of(current)

    @property
    def query_text(self) -> str:
        """The query as text. The query to a data source may be an object with the text in a member."""
        if isinstance(self.query, dict):
            members = ("query", "__legacyStringValue", "rawSql", "rawQuery")
            return next((self.query[name] for name in members if isinstance(self.query.get(name), str)), "")
        return string_of(self.query)

    @property
    def saved_options(self) -> Sequence[Option]:
        """The options that are saved with the variable, without *All*."""
        options = [(option.get("value"), option.get("text")) for option in objects_of(self.source.get("options"))]
        return [Option(value, string_of(text) or value) for value, text in options if isinstance(value, str) and value != ALL]

    @property
    def dependent_members(self) -> list[Any]:
        """The members that may refer to other variables."""
        return [self.query, self.source.get("regex"), self.datasource, self.source.get("allValue"), self.source.get("filters")]


def read_definitions(spec: Mapping[str, Any]) -> dict[str, Definition]:
    """Return the variables of a dashboard by name, in their order."""
    variables = object_of(spec.get("templating")).get("list") if "templating" in spec else spec.get("variables")
    definitions = [_definition(item) for item in objects_of(variables)[:MAX_VARIABLES]]
    return {definition.name: definition for definition in definitions if definition.name}


def _definition(item: Mapping[str, Any]) -> Definition:
    """Return the definition in an item of the classic schema or of the schema with elements."""
    kind = string_of(item.get("kind"))
    # In the schema with elements, the kind is such as ``QueryVariable``, and ``spec`` has the other members.
    if not (kind.endswith(_KIND_SUFFIX) and isinstance(item.get("spec"), dict)):
        return Definition(string_of(item.get("name")), string_of(item.get("type")), item, item.get("query"), item.get("datasource"))
    source = item["spec"]
    kind = kind.removesuffix(_KIND_SUFFIX).lower()
    query, datasource = source.get("query"), source.get("datasource")
    # In this schema, the query to a data source contains the reference to the data source.
    if isinstance(query, dict) and isinstance(query.get("spec"), dict):
        uid = object_of(query.get("datasource")).get("name")
        datasource = datasource or {"type": query.get("group") or query.get("kind"), **({"uid": uid} if uid else {})}
        query = query["spec"]
    if kind == "adhoc" and not datasource:
        name = object_of(item.get("datasource")).get("name")
        datasource = {"type": item.get("group"), **({"uid": name} if name else {})}
    if kind == "datasource":
        # The type of the data sources that users choose from.
        query = source.get("pluginId")
    return Definition(string_of(source.get("name")), _KINDS.get(kind, kind), source, query, datasource)
