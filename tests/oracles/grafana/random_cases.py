"""Random frames and transformations, as JSON that Grafana's library reads."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

_NUMBERS: Final = (0, 1, 2, 3, -1, 5, 10, 1.5, -0.5, 100, 1e6, 0.1, 1e-7, 1e21)
_TEXTS: Final = ("a", "b", "A", "b-1", "10", "2", "", "x y", "é", "_z", "true", "a=1 b=2")
_FIELD_NAMES: Final = ("Value", "Value", "A", "B", "host", "x")
_REDUCERS: Final = (
    "sum",
    "max",
    "min",
    "mean",
    "last",
    "lastNotNull",
    "first",
    "firstNotNull",
    "count",
    "countAll",
    "range",
    "delta",
    "step",
    "diff",
    "diffperc",
    "stdDev",
    "variance",
    "median",
    "logmin",
    "changeCount",
    "distinctCount",
    "p50",
    "p95",
)
#: Transformations that are generated only as the first one, only once, or only as the last one of a case. Otherwise, their result would
#: contain an intended difference from Grafana that an earlier transformation causes.
_FIRST: Final = frozenset({"calculateField", "groupToNestedTable"})
_USED_ONCE: Final = frozenset({"reduce"})
_LAST: Final = frozenset({"filterByValue", "concatenate", "histogram", "groupingToMatrix", "groupToNestedTable"})


class Cases:
    """A source of random frames with transformations. Some choices contain a value twice, so that it is more frequent."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._names: list[str] = []

    def case(self) -> dict[str, Any]:
        """Return frames and one to three transformations."""
        frames = [self.frame() for _ in range(self.random.choice((1, 1, 2, 2, 3)))]
        names = [field["name"] for frame in frames for field in frame["fields"] if "name" in field]
        # Names that do not exist or result from transformations, and twice as often the names of the fields.
        self._names = ["gone", "D", "a", "Value 1", "Value 2", "Time 1", "f", 'x {host="a", job="b"}', "A", *names, *names]
        count = self.random.choice((1, 1, 2, 3))
        transformations: list[dict[str, Any]] = []
        for index in range(count):
            used = {transformation["id"] for transformation in transformations}
            excluded = set(_USED_ONCE & used)
            if index > 0:
                excluded |= _FIRST
            if index < count - 1:
                excluded |= _LAST
            transformations.append(self.transformation(self.random.choice([name for name in _OPTIONS if name not in excluded])))
        if transformations[-1]["id"] == "groupToNestedTable":
            # Grafana's nested tables mix the cells of columns with equal names, so only one column of each name remains.
            for frame in frames:
                frame["fields"] = list({_name_of(field): field for field in frame["fields"]}.values())
        return {"frames": frames, "transformations": transformations}

    def frame(self) -> dict[str, Any]:
        """Return a frame with up to four columns, usually with a column of times."""
        rows = self.random.choice((0, 1, 2, 3, 5, 8))
        fields = [self.field(rows) for _ in range(self.random.randrange(1, 4))]
        if self.chance(0.7):
            times = [1000 * (row + self.random.randrange(2)) for row in range(rows)]
            fields.insert(0, {"name": self.random.choice(("Time", "Time", "time")), "type": "time", "config": {}, "values": times})
        name = {"name": self.random.choice(("f", "g", "cpu"))} if self.chance(0.4) else {}
        return {"refId": self.random.choice("ABC"), "fields": fields, **name}

    def field(self, rows: int) -> dict[str, Any]:
        """Return a column of random values with a number of rows."""
        type_ = self.random.choice(("number", "number", "number", "string", "boolean"))
        choices: tuple[Any, ...] = {"number": _NUMBERS, "string": _TEXTS, "boolean": (True, False)}[type_]
        config: dict[str, Any] = {}
        if self.chance(0.15):
            config["displayName"] = self.random.choice(("D", "E", "Value"))
        if self.chance(0.1):
            config["displayNameFromDS"] = "ds"
        if self.chance(0.15):
            config["unit"] = self.random.choice(("short", "bytes"))
        if self.chance(0.1):
            config["custom"] = {"spanNulls": self.random.choice((True, False, -1))}
        labels = {key: self.random.choice("ab1") for key in self.random.sample(("host", "job", "name"), self.random.choice((1, 1, 2)))}
        values = [None if self.chance(0.12) else self.random.choice(choices) for _ in range(rows)]
        field = {"name": self.random.choice(_FIELD_NAMES), "type": type_, "config": config, "values": values}
        return field | ({"labels": labels} if self.chance(0.3) else {})

    def transformation(self, name: str) -> dict[str, Any]:
        """Return a transformation with random options, sometimes for some frames only."""
        transformation = {"id": name, "options": _OPTIONS[name](self)}
        filter_ = {"filter": {"id": "byRefId", "options": self.random.choice(("A", "/[BC]/"))}}
        return transformation | (filter_ if self.chance(0.08) else {})

    def chance(self, share: float) -> bool:
        """Return True with a probability."""
        return self.random.random() < share

    def name(self) -> str:
        """Return the name of a field, or a name that may result from an earlier transformation."""
        return self.random.choice(self._names)

    def one_of(self, *choices: Any) -> Any:
        """Return one of the choices."""
        return self.random.choice(choices)

    def some_of(self, choices: tuple[str, ...], *counts: int) -> list[str]:
        """Return some of the choices, as many as one of the counts."""
        return self.random.sample(choices, self.random.choice(counts))

    def optional(self, **members: Any) -> dict[str, Any]:
        """Return the members that a random choice keeps."""
        return {name: value for name, value in members.items() if self.chance(0.4)}


def _name_of(field: dict[str, Any]) -> str:
    """Return the name of a column without its frame and labels."""
    return str(field["config"].get("displayName", field["name"]))


# Each of these functions returns random options of one transformation.


def _organize(cases: Cases) -> dict[str, Any]:
    return cases.optional(
        excludeByName={cases.name(): cases.one_of(True, True, False) for _ in range(2)},
        includeByName={cases.name(): True for _ in range(2)},
        indexByName={cases.name(): cases.one_of(0, 1, 2, 3) for _ in range(3)},
        renameByName={cases.name(): cases.one_of("R1", "R2", "", "Value") for _ in range(3)},
    )


def _filter_fields(cases: Cases) -> dict[str, Any]:
    names = [cases.name(), cases.name()]
    choice = cases.one_of(
        {"names": names}, {"pattern": cases.one_of("/a/i", "V.*", "/[/", "/Value|Time/")}, {"names": names, "pattern": "/^A/"}
    )
    return {cases.one_of("include", "exclude"): choice}


def _filter_by_value(cases: Cases) -> dict[str, Any]:
    def condition() -> dict[str, Any]:
        kind = cases.one_of(
            "isNull",
            "isNotNull",
            "greater",
            "greaterOrEqual",
            "lower",
            "lowerOrEqual",
            "equal",
            "notEqual",
            "substring",
            "notSubstring",
            "between",
            "regex",
        )
        special = {
            "between": {"from": cases.one_of(0, "1", -1), "to": cases.one_of(3, "100")},
            "substring": {"value": cases.one_of("a", "", "1")},
            "notSubstring": {"value": cases.one_of("a", "B")},
            "regex": {"value": cases.one_of("a", "^\\d", "null")},
        }
        options = special.get(kind) or {"value": cases.one_of(0, 1, "1", "a", True, None, 2.5)}
        return {"fieldName": cases.name(), "config": {"id": kind, "options": options}}

    return {"filters": [condition(), condition()], "match": cases.one_of("any", "all"), "type": cases.one_of("include", "exclude")}


def _reduce(cases: Cases) -> dict[str, Any]:
    return {"reducers": cases.some_of(_REDUCERS, 1, 1, 2)} | cases.optional(mode="reduceFields", includeTimeField=True, labelsToFields=True)


def _calculate_field(cases: Cases) -> dict[str, Any]:
    operand = cases.one_of(cases.name(), "2", {"fixed": "3"}, {"matcher": {"id": "byName", "options": cases.name()}})
    left = cases.one_of(cases.name(), operand, {"matcher": {"id": "byType", "options": "number"}})
    mode = cases.one_of("reduceRow", "binary", "binary", "unary", "cumulativeFunctions", "windowFunctions", "index")
    settings = {
        "reduceRow": {"reduce": {"reducer": cases.one_of(*_REDUCERS)}},
        "binary": {"binary": {"left": left, "right": operand, "operator": cases.one_of("+", "-", "*", "/")}},
        "unary": {"unary": {"operator": cases.one_of("abs", "exp", "ln", "round", "floor", "ceil", "percent"), "fieldName": cases.name()}},
        "cumulativeFunctions": {"cumulative": {"reducer": cases.one_of("sum", "mean")}},
        "windowFunctions": {"window": {
            "reducer": cases.one_of("mean", "stdDev", "variance"), "windowAlignment": cases.one_of("trailing", "centered"),
            "windowSizeMode": cases.one_of("fixed", "percentage"), "windowSize": cases.one_of(1, 2, 3, 0.5)}},
        "index": {"index": {"asPercentile": cases.one_of(True, False)}},
    }  # fmt: skip
    return {"mode": mode, **settings[mode]} | cases.optional(alias="al", replaceFields=True, timeSeries=False)


def _group(cases: Cases) -> dict[str, Any]:
    def setting() -> dict[str, Any]:
        group = {"operation": "groupby", "aggregations": cases.one_of([], ["count"])}
        aggregate = {"operation": "aggregate", "aggregations": cases.some_of(_REDUCERS, 0, 1, 2)}
        return group if cases.one_of(True, False) else aggregate

    return {"fields": {cases.name(): setting() for _ in range(4)}}


def _convert(cases: Cases) -> dict[str, Any]:
    kinds = ("number", "string", "boolean", "other", "enum")
    return {"conversions": [{"targetField": cases.name(), "destinationType": cases.one_of(*kinds), "enumConfig": {"text": ["a", "b"]}}]}


def _condition(cases: Cases) -> dict[str, Any]:
    """Return a condition of fields."""
    condition: dict[str, Any] = cases.one_of(
        {"id": "byName", "options": cases.name()},
        {"id": "byType", "options": cases.one_of("number", "string", "time", "boolean")},
        {"id": "byRegexp", "options": cases.one_of("/^V/", "/a/i")},
        {"id": "invertMatch", "options": {"id": "byType", "options": "time"}},
        {"id": "anyMatch", "options": [{"id": "byType", "options": "time"}, {"id": "byName", "options": cases.name()}]},
    )
    return condition


def _condition_of_frames(cases: Cases) -> dict[str, Any]:
    """Return a condition of frames."""
    by_query = {"id": "byRefId", "options": cases.one_of("A", "B|C", "/[AB]/")}
    by_name = {"id": "byName", "options": cases.one_of("/f|g/", "cpu", "/^$/")}
    condition: dict[str, Any] = cases.one_of(
        by_query,
        by_name,
        {"id": cases.one_of("anyMatch", "allMatch"), "options": [by_query, by_name]},
        {"id": "invertMatch", "options": by_query},
        {"id": "alwaysMatch"},
    )
    return condition


def _order(cases: Cases) -> dict[str, Any]:
    rules = [{"type": cases.one_of("name", "label"), "labelName": cases.one_of("host", "job"), "desc": cases.one_of(True, False)}]
    options: dict[str, Any] = cases.one_of(
        {"indexByName": {cases.name(): index for index in range(3)}}, {"orderByMode": "auto", "orderBy": rules}
    )
    return options


_FORMATS: Final = (
    "Upper Case",
    "Lower Case",
    "Sentence Case",
    "Title Case",
    "Pascal Case",
    "Camel Case",
    "Snake Case",
    "Kebab Case",
    "Trim",
)
#: The functions by the id of the transformation.
_OPTIONS: Final[dict[str, Callable[[Cases], dict[str, Any]]]] = {
    "organize": _organize,
    "order": _order,
    "rename": lambda cases: {"renameByName": {cases.name(): cases.one_of("R1", "R2", "", "Value") for _ in range(3)}},
    "filterFields": lambda cases: {cases.one_of("include", "exclude"): _condition(cases)},
    "filterFrames": lambda cases: {cases.one_of("include", "exclude"): _condition_of_frames(cases)},
    "ensureColumns": lambda _cases: {},
    "convertFrameType": lambda _cases: {"targetType": "exemplar"},
    "noop": lambda _cases: {},
    "merge": lambda _cases: {},
    "seriesToColumns": lambda cases: cases.optional(byField=cases.name()),
    "joinByField": lambda cases: {"mode": cases.one_of("outer", "inner", "outerTabular")} | cases.optional(byField=cases.name()),
    "filterFieldsByName": _filter_fields,
    "filterByRefId": lambda cases: {cases.one_of("include", "exclude"): cases.one_of("A", "A|B", "/[AB]/")},
    "filterByValue": _filter_by_value,
    "reduce": _reduce,
    "calculateField": _calculate_field,
    "sortBy": lambda cases: {"sort": [{"field": cases.name(), "desc": cases.one_of(True, False)}]},
    "groupBy": _group,
    "groupToNestedTable": lambda cases: _group(cases) | cases.optional(showSubframeHeaders=cases.one_of(True, False)),
    "renameByRegex": lambda cases: {
        "regex": cases.one_of("(.*)", "/V(.)/", "/a/g", "(.*)e", "Value (\\d)"),
        "renamePattern": cases.one_of("$1", "x$1", "$$", "$&-$2"),
    },
    "seriesToRows": lambda _cases: {},
    "labelsToFields": lambda cases: cases.optional(mode="rows", keepLabels=cases.some_of(("host", "job", "name"), 1, 2), valueLabel="host"),
    "convertFieldType": _convert,
    "formatTime": lambda cases: {
        "timeField": cases.name(),
        "outputFormat": cases.one_of("YYYY-MM-DD", "HH:mm:ss.SSS", ""),
        "timezone": "utc",
    },
    "formatString": lambda cases: {"stringField": cases.name(), "outputFormat": cases.one_of(*_FORMATS)},
    "limit": lambda cases: {"limitField": cases.one_of(0, 1, 2, "3", 10)},
    "histogram": lambda cases: cases.optional(bucketSize=cases.one_of(1, "2", 0.5), bucketOffset=cases.one_of(1, "0.5"), combine=True),
    "concatenate": lambda cases: {"frameNameMode": cases.one_of("field", "label", "drop"), "frameNameLabel": "fr"},
    "transpose": lambda cases: cases.optional(firstFieldName="F", restFieldsName="R", emptyValue=cases.one_of("null", "zero", "true")),
    "groupingToMatrix": lambda cases: {"columnField": cases.name(), "rowField": cases.name(), "valueField": cases.name()},
}
#: The ids of all transformations of the cases.
TRANSFORMATIONS: Final = tuple(_OPTIONS)
