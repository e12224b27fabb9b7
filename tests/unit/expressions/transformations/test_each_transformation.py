"""Each transformation on a small table."""

from typing import Any

import pytest
from tests.unit.expressions.transformations.tables import apply_all, cells, column, frame, transform

from dashwright.common.errors import BadRequest
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.data import CellType, Frames
from dashwright.expressions.transformations.registry import TRANSFORMATIONS

#: Two series with one time in common, and a table of hosts.
CPU = frame("A", time=[1000, 2000], cpu=[1, 2])
MEM = frame("B", time=[2000, 3000], mem=[20, 30])
HOSTS = frame("A", host=["a", "b", "a"], load=[1, 5, 3], ok=[True, False, True])

#: Transformations with their options, the frames that they receive, and the cells of each frame that they return.
CASES: list[tuple[str, dict[str, Any], Frames, list[dict[str, Any]]]] = [
    ("noop", {}, [CPU], [{"time": [1000, 2000], "cpu": [1, 2]}]),
    ("convertFrameType", {"targetType": "exemplar"}, [CPU], [{"time": [1000, 2000], "cpu": [1, 2]}]),
    ("organize", {"excludeByName": {"time": True}, "renameByName": {"cpu": "CPU"}}, [CPU], [{"CPU": [1, 2]}]),
    (
        "organize",
        {"includeByName": {"load": True, "host": True}, "indexByName": {"load": 0}},
        [HOSTS],
        [{"load": [1, 5, 3], "host": ["a", "b", "a"]}],
    ),
    ("organize", {"excludeByName": {"time": True, "cpu": True}}, [CPU], []),
    ("order", {"indexByName": {"cpu": 0, "time": 1}}, [CPU], [{"cpu": [1, 2], "time": [1000, 2000]}]),
    (
        "order",
        {"orderByMode": "auto", "orderBy": [{"type": "name", "desc": True}]},
        [HOSTS],
        [{"ok": [True, False, True], "load": [1, 5, 3], "host": ["a", "b", "a"]}],
    ),
    (
        "rename",
        {"renameByName": {"load": "L", "host": ""}},
        [HOSTS],
        [{"host": ["a", "b", "a"], "L": [1, 5, 3], "ok": [True, False, True]}],
    ),
    ("filterFieldsByName", {"include": {"names": ["cpu"]}}, [CPU, MEM], [{"cpu": [1, 2]}]),
    ("filterFieldsByName", {"exclude": {"pattern": "/^t/"}}, [CPU], [{"cpu": [1, 2]}]),
    (
        "filterFieldsByName",
        {"byVariable": True, "include": {"variable": "{load,ok}"}},
        [HOSTS],
        [{"load": [1, 5, 3], "ok": [True, False, True]}],
    ),
    ("filterFields", {"exclude": {"id": "time"}}, [CPU], [{"cpu": [1, 2]}]),
    ("filterByRefId", {"include": "B|C"}, [CPU, MEM], [{"time": [2000, 3000], "mem": [20, 30]}]),
    ("filterFrames", {"exclude": {"id": "byRefId", "options": "/^A/"}}, [CPU, MEM], [{"time": [2000, 3000], "mem": [20, 30]}]),
    ("limit", {"limitField": "1"}, [CPU], [{"time": [1000], "cpu": [1]}]),
    # A negative limit keeps the last rows.
    ("limit", {"limitField": -1}, [CPU], [{"time": [2000], "cpu": [2]}]),
    (
        "sortBy",
        {"sort": [{"field": "load", "desc": True}]},
        [HOSTS],
        [{"host": ["b", "a", "a"], "load": [5, 3, 1], "ok": [False, True, True]}],
    ),
    # A field that no frame has.
    ("sortBy", {"sort": [{"field": "gone"}]}, [CPU], [{"time": [1000, 2000], "cpu": [1, 2]}]),
    ("merge", {}, [CPU, MEM], [{"time": [1000, 2000, 3000], "cpu": [1, 2, UNDEFINED], "mem": [UNDEFINED, 20, 30]}]),
    # Frames without a common field are not merged.
    ("merge", {}, [CPU, frame("B", mem=[1])], [{"time": [1000, 2000], "cpu": [1, 2]}, {"mem": [1]}]),
    ("joinByField", {}, [CPU, MEM], [{"time": [1000, 2000, 3000], "cpu": [1, 2, UNDEFINED], "mem": [UNDEFINED, 20, 30]}]),
    ("joinByField", {"byField": "time", "mode": "inner"}, [CPU, MEM], [{"time": [2000], "cpu": [2], "mem": [20]}]),
    (
        "seriesToColumns",
        {"mode": "outerTabular", "byField": "k"},
        [frame("A", k=["x", "y"], a=[1, 2]), frame("B", k=["y", "z"], b=[3, 4])],
        [{"k": ["y", "x", "z"], "a": [2, 1, None], "b": [3, None, 4]}],
    ),
    # Rows without a partner are in the order of the keys of a JavaScript object, whose integers end at 2**32 - 2.
    (
        "joinByField",
        {"mode": "outerTabular", "byField": "k"},
        [frame("A", k=["x"], a=[1]), frame("B", k=["9999999999", "4294967295", "4294967294", "7"], b=[2, 3, 4, 5])],
        [
            {
                "k": ["x", "7", "4294967294", "9999999999", "4294967295"],
                "a": [1, None, None, None, None],
                "b": [None, 5, 4, 2, 3],
            }
        ],
    ),
    ("ensureColumns", {}, [CPU, MEM], [{"time": [1000, 2000, 3000], "cpu": [1, 2, UNDEFINED], "mem": [UNDEFINED, 20, 30]}]),
    ("concatenate", {}, [frame("A", a=[1], name="f"), frame("B", b=[2, 3])], [{"f · a": [1, UNDEFINED], "b": [2, 3]}]),
    ("seriesToRows", {}, [CPU, MEM], [{"Time": [3000, 2000, 2000, 1000], "Metric": ["mem", "cpu", "mem", "cpu"], "Value": [30, 2, 20, 1]}]),
    (
        "groupBy",
        {"fields": {"host": {"operation": "groupby"}, "load": {"operation": "aggregate", "aggregations": ["sum", "count"]}}},
        [HOSTS],
        [{"host": ["a", "b"], "load (sum)": [4, 5], "load (count)": [2, 1]}],
    ),
    (
        "groupingToMatrix",
        {"columnField": "host", "rowField": "ok", "valueField": "load", "emptyValue": "zero"},
        [HOSTS],
        [{"ok\\host": [True, False], "a": [3, 0], "b": [0, 5]}],
    ),
    ("transpose", {}, [frame("A", host=["a", "b"], load=[1, 2], free=[3, 4])], [{"Field": ["load", "free"], "a": [1, 3], "b": [2, 4]}]),
    ("reduce", {"reducers": ["max", "lastNotNull"]}, [CPU, MEM], [{"Field": ["cpu", "mem"], "Max": [2, 30], "Last *": [2, 30]}]),
    ("reduce", {"reducers": ["mean"], "mode": "reduceFields"}, [CPU], [{"cpu": [1.5]}]),
    (
        "calculateField",
        {"reduce": {"reducer": "sum"}},
        [frame("A", a=[1, 2], b=[3, None])],
        [{"a": [1, 2], "b": [3, None], "Total": [4, 2]}],
    ),
    (
        "calculateField",
        {"mode": "binary", "binary": {"left": "cpu", "operator": "*", "right": "10"}, "replaceFields": True},
        [CPU],
        [{"time": [1000, 2000], "cpu * 10": [10, 20]}],
    ),
    (
        "calculateField",
        {"mode": "binary", "binary": {"left": "cpu", "operator": "/", "right": "mem"}, "alias": "r"},
        [CPU, frame("B", time=[1000, 2000], mem=[0, 4])],
        [{"time": [1000, 2000], "cpu": [1, 2], "mem": [0, 4], "r": [float("inf"), 0.5]}],
    ),
    (
        "calculateField",
        {"mode": "unary", "unary": {"operator": "floor", "fieldName": "a"}},
        [frame("A", a=[1.7, -0.2])],
        [{"a": [1.7, -0.2], "floor(a)": [1, -1]}],
    ),
    (
        "calculateField",
        {"mode": "cumulativeFunctions", "cumulative": {"reducer": "mean", "field": "cpu"}},
        [CPU],
        [{"time": [1000, 2000], "cpu": [1, 2], "cumulative mean(cpu)": [1, 1.5]}],
    ),
    (
        "calculateField",
        {"mode": "windowFunctions", "window": {"windowSizeMode": "fixed", "windowSize": 2}, "alias": "w"},
        [frame("A", a=[1, 3, 7])],
        [{"a": [1, 3, 7], "w": [1, 2, 5]}],
    ),
    ("calculateField", {"mode": "index", "index": {"asPercentile": True}}, [CPU], [{"time": [1000, 2000], "cpu": [1, 2], "Row": [0, 0.5]}]),
    (
        "filterByValue",
        {"filters": [{"fieldName": "load", "config": {"id": "greater", "options": {"value": 2}}}]},
        [HOSTS],
        [{"host": ["b", "a"], "load": [5, 3], "ok": [False, True]}],
    ),
    ("histogram", {"bucketSize": 2}, [frame("A", a=[0, 1, 2.5, 5])], [{"xMin": [0, 2, 4], "xMax": [2, 4, 6], "a": [2, 1, 1]}]),
    (
        "regression",
        {"xFieldName": "time", "yFieldName": "cpu", "predictionCount": 2, "modelType": "polynomial", "degree": 1},
        [CPU],
        [
            {"time": [1000, 2000], "cpu": [1, 2]},
            {"time": [1000, 2000], "polynomial regression cpu predicted": [pytest.approx(1), pytest.approx(2)]},
        ],
    ),
    (
        "heatmap",
        {"xBuckets": {"mode": "size", "value": "2s"}, "yBuckets": {"mode": "size", "value": "2"}, "keepOriginalData": False},
        [CPU],
        [{"xMin": [0, 0, 2000, 2000], "yMin": [0, 2, 0, 2], "Count": [1, 0, 0, 1]}],
    ),
    ("labelsToFields", {}, [frame("A", column("v", [1, 2], host="a"))], [{"v": [1, 2], "host": ["a", "a"]}]),
    ("labelsToFields", {"mode": "rows"}, [frame("A", column("v", [1], host="a"))], [{"label": ["host"], "value": ["a"]}]),
    (
        "joinByLabels",
        {"value": "what"},
        [frame("A", column("v", [1], what="cpu", host="a"), column("w", [2], what="mem", host="a"))],
        [{"host": ["a"], "cpu": [1], "mem": [2]}],
    ),
    ("rowsToFields", {}, [frame("A", Name=["T", "P"], Value=[1, 2], Unit=["celsius", "bar"])], [{"T": [1], "P": [2]}]),
    ("configFromData", {"configRefId": "C"}, [CPU, frame("C", max=[5])], [{"time": [1000, 2000], "cpu": [1, 2]}]),
    ("partitionByValues", {"fields": ["host"]}, [HOSTS], [{"load a": [1, 3], "ok a": [True, True]}, {"load b": [5], "ok b": [False]}]),
    (
        "prepareTimeSeries",
        {"format": "many"},
        [frame("A", time=[2, 1], pod=["x", "y"], v=[1, 2])],
        [{"time": [1], "v y": [2]}, {"time": [2], "v x": [1]}],
    ),
    (
        "prepareTimeSeries",
        {"format": "long"},
        [frame("A", column("time", [1]), column("v", [2], h="a"), column("v", [3], h="b"))],
        [{"time": [1, 1], "v": [2, 3], "h": ["a", "b"]}],
    ),
    ("renameByRegex", {"regex": "/c(.)u/", "renamePattern": "$1-$&"}, [CPU], [{"time": [1000, 2000], "p-cpu": [1, 2]}]),
    (
        "extractFields",
        {"source": "line", "format": "kvp"},
        [frame("A", line=['a=1 b="x y"', "c:2"])],
        [{"line": ['a=1 b="x y"', "c:2"], "a": ["1", UNDEFINED], "b": ["x y", UNDEFINED], "c": [UNDEFINED, "2"]}],
    ),
    (
        "extractFields",
        {"source": "line", "format": "json", "replace": True, "jsonPaths": [{"path": "a[1].b", "alias": "B"}]},
        [frame("A", line=['{"a":[0,{"b":7}]}', "{}"])],
        [{"B": [7, "Not Found"]}],
    ),
    (
        "extractFields",
        {"source": "line", "format": "regexp", "regExp": "/(?<n>\\d+)/"},
        [frame("A", line=["x1", "y"])],
        [{"line": ["x1", "y"], "n": ["1", UNDEFINED]}],
    ),
    (
        "extractFields",
        {"source": "line", "format": "delimiter", "delimiter": ";"},
        [frame("A", line=["p; q"])],
        [{"line": ["p; q"], "p": [1], "q": [1]}],
    ),
    (
        "convertFieldType",
        {"conversions": [{"targetField": "v", "destinationType": "number"}]},
        [frame("A", v=["1,200", "", "x"])],
        [{"v": [1200, 0, None]}],
    ),
    (
        "convertFieldType",
        {"conversions": [{"targetField": "v", "destinationType": "time", "dateFormat": "DD.MM.YYYY"}]},
        [frame("A", v=["02.01.1970", "x"])],
        [{"v": [86_400_000, None]}],
    ),
    (
        "convertFieldType",
        {"conversions": [{"targetField": "v", "destinationType": "boolean"}]},
        [frame("A", v=["x", ""])],
        [{"v": [True, False]}],
    ),
    (
        "convertFieldType",
        {"conversions": [{"targetField": "v", "destinationType": "other"}]},
        [frame("A", v=["[1]", "["])],
        [{"v": [[1], None]}],
    ),
    (
        "convertFieldType",
        {"conversions": [{"targetField": "v", "destinationType": "enum", "enumConfig": {"text": ["x", "y"]}}]},
        [frame("A", v=["y", "z"])],
        [{"v": [1, UNDEFINED]}],
    ),
    (
        "formatTime",
        {"timeField": "time", "outputFormat": "YYYY HH:mm:ss", "timezone": "Asia/Tokyo"},
        [CPU],
        [{"time": ["1970 09:00:01", "1970 09:00:02"], "cpu": [1, 2]}],
    ),
    ("formatString", {"stringField": "host", "outputFormat": "Upper Case"}, [frame("A", host=["a b", None])], [{"host": ["A B", None]}]),
    # An unknown format.
    ("formatString", {"stringField": "host", "outputFormat": "odd"}, [frame("A", host=["a b", None])], [{"host": [UNDEFINED, UNDEFINED]}]),
    # As in Grafana, null times are last if the first time is null, and are otherwise sorted like 0.
    ("sortBy", {"sort": [{"field": "time"}]}, [frame("A", time=[None, 2, 1])], [{"time": [1, 2, None]}]),
    ("sortBy", {"sort": [{"field": "time"}]}, [frame("A", time=[2, None, 1])], [{"time": [None, 1, 2]}]),
    # An unknown mode.
    ("calculateField", {"mode": "odd"}, [CPU], [{"time": [1000, 2000], "cpu": [1, 2]}]),
    (
        "calculateField",
        {"mode": "windowFunctions", "window": {}, "replaceFields": True},
        [CPU],
        [{"time": [1000, 2000], "trailing moving mean": [1, 2]}],
    ),
    # Filters of fields that no frame has are ignored, even with an unknown condition.
    (
        "filterByValue",
        {"filters": [{"fieldName": "gone", "config": {"id": "odd"}}, {"fieldName": {}}], "type": "exclude"},
        [CPU],
        [{"time": [1000, 2000], "cpu": [1, 2]}],
    ),
    (
        "concatenate",
        {"frameNameMode": "label", "frameNameLabel": ""},
        [frame("A", cpu=[1], name="f"), MEM],
        [{'cpu {="f"}': [1, UNDEFINED], "time": [2000, 3000], "mem": [20, 30]}],
    ),
    (
        "filterFrames",
        {"include": {"id": "anyMatch", "options": [{"id": "byRefId", "options": "B"}, {"id": "byName", "options": "f"}]}},
        [CPU, MEM],
        [{"time": [2000, 3000], "mem": [20, 30]}],
    ),
    (
        "filterFrames",
        {
            "include": {
                "id": "allMatch",
                "options": [{"id": "alwaysMatch"}, {"id": "invertMatch", "options": {"id": "byRefId", "options": "A"}}],
            }
        },
        [CPU, MEM],
        [{"time": [2000, 3000], "mem": [20, 30]}],
    ),
]


@pytest.mark.parametrize(("name", "options", "frames", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_transformation_returns_its_table(name: str, options: dict[str, Any], frames: Frames, expected: list[dict[str, Any]]) -> None:
    """The table of a transformation has the columns by display name, in order, with their cells."""
    result = transform(frames, name, **options)
    assert [list(item) for item in result] == [list(item) for item in expected]
    assert result == expected


def test_every_transformation_has_a_case() -> None:
    """Each transformation of the registry has a case, except the two whose cells are frames, which have tests of their own."""
    assert {name for name, *_ in CASES} | {"groupToNestedTable", "timeSeriesTable"} == TRANSFORMATIONS.keys()


def test_groups_have_their_rows_as_nested_tables() -> None:
    """The last column has a table of the rows of each group, without the column that the rows are grouped by."""
    (result,) = apply_all(
        [HOSTS], {"id": "groupToNestedTable", "options": {"fields": {"host": {"operation": "groupby", "aggregations": []}}}}
    )
    assert result.columns[-1].type is CellType.FRAMES
    assert [cells(tables) for tables in result.columns[-1].values] == [
        [{"load": [1, 3], "ok": [True, True]}],
        [{"load": [5], "ok": [False]}],
    ]


def test_settings_come_from_cells() -> None:
    """Rows and results of queries become settings of fields: numbers, units, thresholds and value mappings."""
    # Each row becomes a field with settings.
    sensors = frame("A", Name=["T", "P"], Value=[1, 2], Unit=["celsius", "bar"], max=[50, None], Place=["in", "out"])
    (fields,) = apply_all([sensors], {"id": "rowsToFields", "options": {}})
    assert [(column.name, column.config, column.labels) for column in fields.columns] == [
        ("T", {"unit": "celsius", "max": 50}, {"Place": "in"}),
        ("P", {"unit": "bar"}, {"Place": "out"}),
    ]
    # The columns of a query become settings of the fields of another query.
    mappings = [
        {"fieldName": "level", "handlerKey": "threshold1", "handlerArguments": {"threshold": {"color": "blue"}}},
        {"fieldName": "state", "handlerKey": "mappings.value"},
        {"fieldName": "label", "handlerKey": "mappings.text"},
        {"fieldName": "decimals", "reducerId": "max", "handlerKey": "decimals"},
    ]
    source = frame("C", level=[1, 7], state=[0, 1], label=["off", "on"], decimals=[2, 1])
    (configured,) = apply_all([CPU, source], {"id": "configFromData", "options": {"configRefId": "C", "mappings": mappings}})
    assert configured.columns[1].config == {
        "thresholds": {"mode": "absolute", "steps": [{"value": 7, "color": "blue"}]},
        "mappings": [{"type": "value", "options": {"0": {"text": "off", "index": 0}, "1": {"text": "on", "index": 1}}}],
        "decimals": 2,
    }


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("renameByRegex", {"regex": "/(/"}, "is invalid"),
        ("renameByRegex", {"regex": "(a+)+$" + "b" * 1000}, "shorten it"),
        ("filterByValue", {"filters": [{"fieldName": "cpu", "config": {"id": "odd"}}]}, "unknown condition 'odd' of values"),
        ("filterFields", {"include": {"id": "odd"}}, "unknown condition 'odd' of fields"),
        ("filterFrames", {"include": {"id": "odd"}}, "unknown condition 'odd' of frames"),
        ("calculateField", {"reduce": {"reducer": "meen"}}, "unknown calculation 'meen'; did you mean mean?"),
        ("calculateField", {"mode": "windowFunctions", "window": {"windowSize": 0}}, "must be a number above 0"),
        ("calculateField", {"mode": "windowFunctions", "window": {"reducer": "sum"}}, "use mean, variance or stdDev"),
        ("calculateField", {"mode": "cumulativeFunctions", "cumulative": {"reducer": "max"}}, "use sum or mean"),
        ("extractFields", {"source": "cpu", "format": "xml"}, "unknown format 'xml'"),
        ("formatTime", {"timeField": "time", "timezone": "Mars/Base"}, "unknown time zone 'Mars/Base'"),
    ],
)
def test_wrong_options_are_reported(name: str, options: dict[str, Any], problem: str) -> None:
    """The error of wrong options names the transformation and what is wrong."""
    with pytest.raises(BadRequest, match=f"transformation 1 \\({name}\\): .*") as error:
        transform([CPU], name, **options)
    assert problem in error.value.message
