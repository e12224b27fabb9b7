"""The built-in source: every scenario returns equal results for equal queries, in the expected format."""

import math
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest, SourceFailed, TooLarge
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import MemoryBudget, Reservation
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.values import NoData, Series
from dashwright.expressions.sources.registry import SourceRegistry
from dashwright.expressions.sources.testdata import source as testdata
from dashwright.expressions.sources.testdata.columns import field_of, read_csv
from dashwright.expressions.sources.testdata.source import TYPE

START = datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)
# The start in milliseconds.
RANGE_START = 1767225607_000


async def send_query(
    scenario: str, *, span: timedelta = timedelta(minutes=5), limits: Limits | None = None, ref_id: str = "A", **properties: Any
) -> list[Frame]:
    """Return the frames of a scenario for a range of a length, by default 300 points at intervals of a second."""
    query = SourceQuery.model_validate({"refId": ref_id, "datasource": {"type": TYPE}, "scenarioId": scenario, **properties})
    return list(await testdata.TestData().query(query, TimeRange(START, START + span), limits or Limits()))


def field_values(field: Field) -> list[Any]:
    """Return the values of a field, with None for null. Times are in milliseconds."""
    values = (field.values // 1_000_000 if field.type is FieldType.TIME else field.values).tolist()
    nulls = [False] * len(field) if field.nulls is None else field.nulls.tolist()
    return [None if null else value for value, null in zip(values, nulls, strict=True)]


async def test_a_random_walk_has_the_shape_that_clients_know() -> None:
    """A random walk has a point for each interval, from the beginning of the range and without its end."""
    first, second = await send_query("random_walk", seriesCount=2, intervalMs=60_000, labels='host="h$seriesIndex", zone=a')
    times, values = first.fields
    assert first.name == ""
    assert times.name == "time"
    assert values.name == "A-series"
    assert second.fields[1].name == "A-series1"
    assert first.meta == {"type": "timeseries-multi", "custom": {"customStat": 10}}
    assert times.config == {"interval": 60_000}
    assert field_values(times) == [RANGE_START + 60_000 * index for index in range(5)]
    assert values.nullable
    assert [dict(field.labels.pairs) for field in (values, second.fields[1]) if field.labels] == [
        {"host": "h0", "zone": "a"},
        {"host": "h1", "zone": "a"},
    ]
    assert (await send_query("random_walk", alias="mine"))[0].fields[1].name == "mine"
    assert isinstance(values_of([first, second], TYPE), Series)


@pytest.mark.parametrize("span", [timedelta(0), timedelta(minutes=5), timedelta(hours=5)])
@pytest.mark.parametrize("drop_percent", [0, 30])
async def test_a_random_walk_takes_the_numbers_of_the_standard_generator(span: timedelta, drop_percent: int) -> None:
    """A walk has the numbers of a loop over its points with Python's generator, so that later versions return the same numbers."""
    (frame,) = await send_query("random_walk", span=span, intervalMs=10_000, noise=2, spread=3, dropPercent=drop_percent)
    end = RANGE_START + span // timedelta(milliseconds=1)
    random = Random(f"A {RANGE_START} {end} 0")
    position, expected = random.random() * 100, []
    for time in range(RANGE_START, end, 10_000):
        value = position + random.random() * 2
        if not drop_percent or random.random() >= drop_percent / 100:
            expected.append((time, value))
        position += (random.random() - 0.5) * 3
    assert list(zip(field_values(frame.fields[0]), field_values(frame.fields[1]), strict=True)) == expected


async def test_a_random_walk_can_be_repeated() -> None:
    """Equal queries over the same range return the same walk; another range, series or refId has another walk."""
    walk, equal_walk, walk_of_ref_id_b, longer_walk = [
        field_values((await send_query("random_walk", **options))[0].fields[1])
        for options in ({}, {}, {"ref_id": "B"}, {"span": timedelta(minutes=5, seconds=1)})
    ]
    assert equal_walk == walk
    assert walk_of_ref_id_b[0] != walk[0]
    assert longer_walk[: len(walk)] != walk
    first_series, second_series = await send_query("random_walk", seriesCount=2)
    assert field_values(first_series.fields[1]) == walk
    assert field_values(second_series.fields[1]) != walk


@given(start=st.floats(-100, 100), width=st.floats(0, 50), spread=st.floats(0, 10), noise=st.floats(0, 10))
async def test_a_random_walk_keeps_to_its_bounds(start: float, width: float, spread: float, noise: float) -> None:
    """Each step is at most half of the spread, plus noise, and all values are within the bounds."""
    (frame,) = await send_query("random_walk", startValue=start, spread=spread, noise=noise)
    values = np.array(field_values(frame.fields[1]))
    assert start <= values[0] <= start + noise
    assert bool((np.abs(np.diff(values)) <= spread / 2 + noise + 1e-9).all())
    (bounded,) = await send_query("random_walk", startValue=start, spread=spread, noise=noise, min=start, max=start + width)
    values = np.array(field_values(bounded.fields[1]))
    assert bool(((values >= start) & (values <= start + width)).all())


async def test_a_random_walk_is_bounded() -> None:
    """A random walk has at most 10,000 points for each series. Settings limit the number of series and of all points."""
    (frame,) = await send_query("random_walk", span=timedelta(days=30))
    assert frame.row_count == 10_000
    with pytest.raises(TooLarge, match="DASHWRIGHT_QUERY_SERIES"):
        await send_query("random_walk", seriesCount=11, limits=Limits(query_series=10))
    with pytest.raises(TooLarge, match="DASHWRIGHT_QUERY_POINTS"):
        # Two series of 300 points have 600.
        await send_query("random_walk", seriesCount=2, limits=Limits(query_points=599))
    memory = Reservation(MemoryBudget(), None)
    assert await send_query("random_walk", seriesCount=-1, limits=Limits(memory=memory)) == []
    assert memory.size == 0
    (dropped,) = await send_query("random_walk", dropPercent=50)
    # About half of the 300 points; the walk drops each with this probability.
    assert 50 < dropped.row_count < 250


async def test_pulses_are_counted_from_the_epoch() -> None:
    """Pulses are counted from the epoch, not from the start of the range. Their values may be numbers, null or NaN."""
    wave = {"timeStep": 30, "onCount": 2, "onValue": 5, "offCount": 3, "offValue": "null"}
    (frame,) = await send_query("predictable_pulse", pulseWave=wave, labels="{a=b}", alias="pulse")
    times, values = frame.fields
    assert frame.name == "pulse"
    assert times.name == "Time"
    assert values.name == "Value"
    assert frame.meta == {"type": "timeseries-multi", "typeVersion": [0, 0]}
    # The range starts 7 seconds after a multiple of the step. A cycle has 5 steps of 30 seconds, of which the first 2 are on.
    assert field_values(times)[0] == RANGE_START - 7_000
    assert field_values(times)[-1] < RANGE_START + 300_000
    assert field_values(values) == [5.0 if instant // 30_000 % 5 < 2 else None for instant in field_values(times)]
    (default_pulse,) = await send_query("predictable_pulse")
    assert set(field_values(default_pulse.fields[1])) == {1.0, 2.0}
    # This pulse is always on.
    (pulse_of_nan,) = await send_query("predictable_pulse", pulseWave={"onValue": "nan", "offCount": 0})
    assert all(map(math.isnan, field_values(pulse_of_nan.fields[1])))


WRONG_WAVES = [
    ({"timeStep": 0}, "timeStep above zero"),
    ({"onCount": 0, "offCount": 0}, "together above zero"),
    ({"onValue": "x"}, "onValue"),
    ([], "pulseWave"),
]


@pytest.mark.parametrize(("wave", "message"), WRONG_WAVES)
async def test_an_invalid_pulse_is_an_error(wave: Any, message: str) -> None:
    """The error of an invalid pulse names the invalid property."""
    with pytest.raises(BadRequest, match=message):
        await send_query("predictable_pulse", pulseWave=wave)


async def test_scenarios_without_data_and_with_slow_data_are_served() -> None:
    """The scenario without data has no frames, and the slow one returns its frames after the given duration."""
    assert await send_query("no_data_points") == []
    assert isinstance(values_of([], TYPE), NoData)
    assert len(await send_query("slow_query", stringInput="1ms", seriesCount=5)) == 1
    assert len(await send_query("slow_query")) == 1
    with pytest.raises(BadRequest, match="soon"):
        await send_query("slow_query", stringInput="soon")


async def test_slow_data_is_not_slower_than_allowed() -> None:
    """A slow query beyond the allowed duration is rejected immediately, with an error that names the setting."""
    with pytest.raises(TooLarge, match=r"3600 s, more than the 30 allowed \(setting DASHWRIGHT_TESTDATA_SECONDS\)"):
        await send_query("slow_query", stringInput="1h")


async def test_testdata_can_be_disabled() -> None:
    """A setting disables the source. The error of a query to the disabled source names the setting."""
    query = SourceQuery.model_validate({"refId": "A", "datasource": {"type": TYPE}})
    (error,) = await SourceRegistry(testdata=False).find([query], QueryContext())
    assert isinstance(error, BadRequest)
    assert "DASHWRIGHT_TESTDATA" in error.message


async def test_the_server_error_scenario_fails_unless_it_has_values() -> None:
    """The scenario of server errors fails by default. With values, it returns them, distributed evenly over the range."""
    with pytest.raises(SourceFailed, match="fails on purpose"):
        await send_query("server_error_500")
    (frame,) = await send_query("server_error_500", stringInput="1, 20, null")
    assert field_values(frame.fields[0]) == [RANGE_START, RANGE_START + 150_000, RANGE_START + 300_000]
    assert frame.fields[1].name == "A-series"
    assert frame.fields[1].type is FieldType.INT64
    assert field_values(frame.fields[1]) == [1, 20, None]
    (csv_frame,) = await send_query("csv_metric_values", stringInput="1,20,null")
    assert field_values(csv_frame.fields[1]) == [1, 20, None]
    assert (await send_query("csv_metric_values"))[0].fields == ()


CSV = """time, "value{host=""a"", n=$seriesIndex}", n, up, "na,me"
2026-01-01T00:00:00Z, 1.5, 1, T, x
2026-01-01T01:00:00.250+01:00, null, , false, "multi
line"
never, 1e3, -3, NULL, null
"""


async def test_csv_columns_have_inferred_types() -> None:
    """Columns of CSV have inferred types. Time columns are recognized by name, names may contain labels, and any value may be null."""
    (frame,) = await send_query("csv_content", csvContent=CSV, alias="table")
    assert frame.name == "table"
    result = [(field.name, field.type.value, field_values(field)) for field in frame.fields]
    assert result == [
        ("time", "time.Time", [1767225600_000, 1767225600_250, None]),
        ("value", "float64", [1.5, None, 1000.0]),
        ("n", "int64", [1, None, -3]),
        ("up", "bool", [True, False, None]),
        ("na,me", "string", ["x", "multi\nline", None]),
    ]
    assert all(field.nullable for field in frame.fields)
    assert dict(frame.fields[1].labels.pairs if frame.fields[1].labels else ()) == {"host": "a", "n": "1"}
    assert await send_query("csv_content", csvContent="") == []
    assert (await send_query("csv_content", csvContent="a,b\n"))[0].fields == []


@pytest.mark.parametrize(
    ("texts", "type_", "values"),
    [
        (["1", "2.0"], "float64", [1.0, 2.0]),
        (["9223372036854775807"], "int64", [2**63 - 1]),
        (["9223372036854775808"], "float64", [2.0**63]),
        (["inf", "-Infinity"], "float64", [math.inf, -math.inf]),
        (["1_000"], "string", ["1_000"]),
        (["٣"], "string", ["٣"]),
        (["0x10"], "string", ["0x10"]),
        (["", "null"], "string", [None, None]),
        (["t", "x", "TRUE"], "bool", [True, False, True]),
        (["1", "F"], "string", ["1", "F"]),
        (["."], "string", ["."]),
        (["1."], "float64", [1.0]),
    ],
)
def test_a_column_has_the_narrowest_type_that_fits(texts: list[str], type_: str, values: list[Any]) -> None:
    """A column has the narrowest type that fits all of its values, or is text if no other type fits."""
    field = field_of("x", texts)
    assert field.type.value == type_
    assert field_values(field) == values


@given(st.text(max_size=200))
def test_any_csv_is_a_table_or_an_error(content: str) -> None:
    """Any text is a table whose columns have the same length, or is rejected with BadRequest."""
    with suppress(BadRequest):
        assert len({len(field) for field in read_csv(content, "").fields}) <= 1


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"scenarioId": "logs"}, "'logs' of grafana-testdata-datasource is not supported; use one of raw_frame, csv_content"),
        ({"scenarioId": 7}, "scenarioId must be text"),
        ({"scenarioId": "csv_content", "csvContent": "a,b\n1"}, "1 values in row 2"),
        ({"scenarioId": "csv_content", "csvContent": 'a\n"x'}, "csvContent cannot be read"),
        ({"scenarioId": "csv_content", "csvContent": "v{x}\n1"}, "labels"),
        ({"scenarioId": "random_walk", "labels": "x"}, "labels 'x' cannot be read"),
        ({"scenarioId": "random_walk", "spread": "wide"}, "spread must be a number"),
        ({"scenarioId": "random_walk", "seriesCount": True}, "seriesCount must be a number"),
    ],
)
async def test_an_invalid_query_is_an_error(properties: dict[str, Any], message: str) -> None:
    """The error of an invalid query names the invalid property."""
    scenario = properties.pop("scenarioId")
    with pytest.raises(BadRequest, match=message):
        await send_query(scenario, **properties)


async def test_the_health_check_succeeds() -> None:
    """The health check succeeds for every caller."""
    assert await testdata.TestData().health() == "Data source is working"
