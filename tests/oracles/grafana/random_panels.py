"""Random frames with field configurations: defaults and override rules, as JSON that Grafana's library reads."""

from random import Random
from typing import Any, Final

from tests.oracles.grafana.random_cases import Cases
from tests.oracles.grafana.random_values import RandomValues

#: The custom properties of the columns, as paths.
CUSTOM_PROPERTIES: Final = ("hideFrom", "lineWidth", "fillBelowTo", "transform", "cellOptions", "footer.reducers")
#: The name of a custom property that Grafana ignores, because no panel registers it.
UNKNOWN_PROPERTY: Final = "unknown"
_NAMES: Final = ("Value", "Value", "Value", "Time", "A", "host", None)
_FRAME_NAMES: Final = ("cpu", "cpu", "mem", None, None)
_UNITS: Final = ("short", "bytes", "s", "percent", "bool_on_off", "string", "none", "dateTimeAsIso", "x")
_COLOURS: Final = ("red", "green", "#123456", "dark-orange")
_MODES: Final = ("thresholds", "fixed", "palette-classic", "palette-classic-by-name", "continuous-GrYlRd", "shades")
_TYPES: Final = ("number", "string", "time", "boolean", "other")
_REDUCERS: Final = ("allIsNull", "allIsZero", "last", "lastNotNull", "max", "min", "count", "sum", "mean", "first", "distinctCount")
_PATTERNS: Final = ("/^V/", "/a/i", "/.*/", "Value.*", "a", "/[/", "", "/\\d$/", '/host="a"/', "cpu|mem", "/^(A|host)$/")
_TEXTS: Final = ("", "a", "10", "true", "x y", "1e3", "é")
_NUMBERS: Final = (0, 1, 2, 3, -1, 5, 10, 1.5, 100, 1e6, 0.1)
#: The deepest nesting of conditions that combine others.
_MAX_DEPTH: Final = 2


class RandomPanels:
    """A source of random frames with field configurations. Some choices contain a value twice, so that it is more frequent."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._values = RandomValues(seed)
        self._cases = Cases(seed)
        self._frames: list[dict[str, Any]] = []

    def names(self) -> dict[str, Any]:
        """Return frames whose columns are named."""
        return {"kind": "names", "frames": self._some_frames()}

    def columns(self) -> dict[str, Any]:
        """Return frames with a field configuration."""
        self._frames = self._some_frames()
        return {"kind": "columns", "frames": self._frames, "transformations": [], "fieldConfig": self._field_config()}

    def transformed_columns(self) -> dict[str, Any]:
        """Return frames with transformations and a field configuration of the results."""
        case = self._cases.case()
        self._frames = case["frames"]
        for field in (field for frame in self._frames for field in frame["fields"]):
            # Grafana's server sorts labels before its library reads them. Pictures read empty texts in columns of numbers as null.
            if "labels" in field:
                field["labels"] = dict(sorted(field["labels"].items()))
            field["values"] = ["z" if value == "" else value for value in field["values"]]
        return {"kind": "columns", **case, "fieldConfig": self._field_config()}

    def items(self) -> dict[str, Any]:
        """Return frames with a field configuration, and the options of a panel with single values."""
        options: dict[str, Any] = {
            "values": self._chance(0.5),
            "fields": self._random.choice(_PATTERNS) if self._chance(0.4) else "",
            "calcs": self._random.sample(_REDUCERS, self._random.randrange(3)),
        }
        case = self.columns()
        for field in (field for frame in case["frames"] for field in frame["fields"]):
            # Grafana remembers calculations on a column of unknown type from a rule, and reads texts as times.
            if field["type"] == "other":
                field |= {"type": "boolean", "values": [value if value is None else bool(value) for value in field["values"]]}
            field["values"] = ["t" if isinstance(value, str) and value[:1].isdigit() else value for value in field["values"]]
        return {**case, "kind": "items", "reduceOptions": options | self._optional(0.5, limit=self._random.choice((0, 1, 3)))}

    def _some_frames(self) -> list[dict[str, Any]]:
        """Return one to three frames."""
        return [self._frame() for _ in range(self._random.choice((1, 1, 2, 2, 3)))]

    def _frame(self) -> dict[str, Any]:
        """Return a frame with up to four columns and three rows."""
        rows = self._random.choice((0, 1, 2, 3))
        fields = [self._field(rows) for _ in range(self._random.randrange(1, 5))]
        name = self._random.choice(_FRAME_NAMES)
        # The result of a query for an earlier time range, to which Grafana adds *(comparison)* to names.
        meta = {"meta": {"timeCompare": {"isTimeShiftQuery": True}}} if self._chance(0.05) else {}
        return {"refId": self._random.choice("AB"), "fields": fields, **({"name": name} if name else {}), **meta}

    def _field(self, rows: int) -> dict[str, Any]:
        """Return a column of random values with a number of rows."""
        type_ = self._random.choice(("number", "number", "number", *_TYPES))
        # Grafana compares numbers with texts of a column of unknown type in ways that depend on their order.
        content = self._random.choice(("number", "boolean", "words")) if type_ == "other" else type_
        values = [None if self._chance(0.15) else self._cell(content) for _ in range(rows)]
        if self._chance(0.05):
            values = [None] * rows
        field: dict[str, Any] = {"type": type_, "config": self._config_of_source(), "values": values}
        # Grafana takes a column of unknown type for times if its name is Time.
        if (name := self._random.choice(_NAMES)) and (type_, name) != ("other", "Time"):
            field["name"] = name
        if self._chance(0.4):
            keys = self._random.sample(("host", "job"), self._random.choice((1, 1, 1, 2)))
            field["labels"] = {key: self._random.choice(("a", "b", "")) for key in keys}
        return field

    def _config_of_source(self) -> dict[str, Any]:
        """Return the configuration of a column by its data source."""
        return self._optional(
            0.1,
            displayName=self._random.choice(("D", "Value")),
            displayNameFromDS="ds",
            unit=self._random.choice(("short", "bytes")),
            decimals=1,
            min=1,
            links=[{"title": "source", "url": "/s"}],
            custom={"lineWidth": 2},
            mappings=[self._values.mapping()],
        )

    def _cell(self, content: str) -> Any:
        """Return a value of a type of columns, or of ``words``, which are texts without numbers."""
        if content == "time":
            return 1000 * self._random.randrange(100_000)
        choices = {"number": _NUMBERS, "string": _TEXTS, "boolean": (True, False), "words": ("", "a", "x y", "é")}
        return self._random.choice(choices[content])

    def _field_config(self) -> dict[str, Any]:
        """Return defaults and override rules."""
        properties = {name: self._property(name) for name in _PROPERTIES}
        defaults = self._optional(0.3, **{name: value for name, value in properties.items() if "." not in name})
        defaults |= self._optional(0.3, custom={"lineWidth": 1, "hideFrom": {"legend": True}})
        return {"defaults": defaults, "overrides": [self._rule() for _ in range(self._random.choice((0, 1, 1, 2, 3)))]}

    def _rule(self) -> dict[str, Any]:
        """Return an override rule, which rarely is the one that Grafana adds to hide series that a user has deselected."""
        if self._chance(0.05):
            options = {"mode": "exclude", "names": [self._name()], "prefix": "All except:", "readOnly": True}
            hidden = {"id": "custom.hideFrom", "value": {"viz": True, "legend": False, "tooltip": False}}
            return {"__systemRef": "hideSeriesFrom", "matcher": {"id": "byNames", "options": options}, "properties": [hidden]}
        names = self._random.sample(_PROPERTIES, self._random.choice((1, 1, 2)))
        properties = [{"id": name, "value": None if self._chance(0.1) else self._property(name)} for name in names]
        return {"matcher": self.matcher(), "properties": [self._without_value(item) for item in properties]}

    def _without_value(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return a property whose null is sometimes a missing member."""
        return {"id": item["id"]} if item["value"] is None and self._chance(0.5) else item

    def matcher(self, depth: int = 0) -> dict[str, Any]:
        """Return a condition of columns."""
        options: dict[str, Any] = {
            "byName": self._name(),
            "byNames": {"names": [self._name(), self._name()]} | self._optional(0.5, mode=self._random.choice(("include", "exclude"))),
            "byRegexp": self._random.choice(_PATTERNS),
            "byRegexpOrNames": self._optional(0.7, pattern=self._random.choice(_PATTERNS), names=[self._name()]),
            "byType": self._random.choice(_TYPES),
            "byFrameRefID": self._random.choice(("A", "B", "C")),
            "byValue": {"reducer": self._random.choice(_REDUCERS)}
            | self._optional(0.8, op=self._random.choice(("eq", "neq", "gt", "gte", "lt", "lte", "x")), value=self._expected()),
            "numeric": None,
            "time": None,
            "first": None,
            "firstTimeField": None,
            "alwaysMatch": None,
            "neverMatch": None,
        }
        if depth < _MAX_DEPTH:
            children = [self.matcher(depth + 1) for _ in range(self._random.randrange(3))]
            options |= {"anyMatch": children, "allMatch": children, "invertMatch": self.matcher(depth + 1)}
        name = self._random.choice(tuple(options))
        return {"id": name} | ({} if options[name] is None else {"options": options[name]})

    def _expected(self) -> Any:
        """Return the value that a condition compares with."""
        return self._random.choice((0, 1, 3, 10, None, "a", "1", True))

    def _name(self) -> str:
        """Return a name that a column has, or may have."""
        fields = [field for frame in self._frames for field in frame["fields"]]
        names = [name for field in fields if (name := field.get("name"))] or ["Value"]
        name = self._random.choice(names)
        # Display names that a column may have: with labels, numbered, or with the name of its frame.
        composed = (name, name, f"{name} a", f"{name} 1", f"{name} 2", f"cpu {name}", f'{name} {{host="a", job="b"}}')
        return self._random.choice((*composed, "a", "b", "Time", "D", "N", "ds", "gone", "cpu", '{host="a"}', "D (comparison)"))

    def _property(self, name: str) -> Any:
        """Return a value of a property in ``_PROPERTIES``."""
        values = {
            "unit": self._random.choice(_UNITS),
            "decimals": self._random.choice((0, 1, 3, "2")),
            "displayName": self._random.choice(("D", "N", "", "Value", 7)),
            "mappings": [self._values.mapping() for _ in range(self._random.randrange(3))],
            "thresholds": self._thresholds(),
            "color": self._optional(0.9, mode=self._random.choice(_MODES), fixedColor=self._random.choice(_COLOURS)),
            "noValue": self._random.choice(("-", "", "0", "n/a")),
            "min": self._random.choice((0, 2, 50, "1")),
            "max": self._random.choice((1, 10, 100, "20")),
            "fieldMinMax": self._chance(0.7),
            "links": [{"title": "panel", "url": "/p"}],
            "custom.hideFrom": self._random.choice(({"viz": True}, {"legend": True, "viz": False})),
            "custom.lineWidth": self._random.choice((0, 1, 5)),
            "custom.fillBelowTo": self._name(),
            "custom.transform": "negative-Y",
            "custom.cellOptions": {"type": "gauge"},
            "custom.footer.reducers": ["sum"],
            "custom.unknown": 1,
            "nullValueMode": "null as zero",
            "displayNameFromDS": "other",
        }
        return values[name]

    def _thresholds(self) -> dict[str, Any]:
        """Return thresholds. Some of their steps have no value."""
        thresholds = self._values.thresholds()
        for step in thresholds["steps"]:
            if self._chance(0.1):
                step["value"] = None
            if self._chance(0.05):
                del step["color"]
        if self._chance(0.1):
            self._random.shuffle(thresholds["steps"])
        return thresholds if self._chance(0.9) else self._random.choice(({"steps": thresholds["steps"]}, {"mode": "percentage"}))

    def _optional(self, share: float, **members: Any) -> dict[str, Any]:
        """Return the members that a random choice keeps, each with the probability ``share``."""
        return {name: value for name, value in members.items() if self._chance(share)}

    def _chance(self, share: float) -> bool:
        """Return True with a probability."""
        return self._random.random() < share


#: The properties that defaults and rules set.
_PROPERTIES: Final = (
    *("unit", "decimals", "displayName", "mappings", "thresholds", "color", "noValue", "min", "max", "fieldMinMax", "links"),
    *("custom.hideFrom", "custom.lineWidth", "custom.fillBelowTo", "custom.transform", "custom.cellOptions", "custom.footer.reducers"),
    *("custom.unknown", "nullValueMode", "displayNameFromDS"),
)
