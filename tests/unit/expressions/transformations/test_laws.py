"""Laws of transformations, for random tables."""

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.transformations.tables import apply_all, cells, column, frame, transform

from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.data import DataFrame

NUMBERS = st.lists(st.integers(-5, 5) | st.none(), min_size=1, max_size=12)
FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)
KEYS = st.lists(st.integers(0, 5), min_size=1, max_size=8)
TEXT = st.lists(st.sampled_from(["a", "b", "B", "", "é", "10", "9"]), min_size=1, max_size=12)


def series(ref_id: str, keys: list[int], name: str) -> DataFrame:
    """Return a frame with the keys as times, and a column whose values are ten times the keys."""
    return frame(ref_id, column("time", keys), column(name, [key * 10 for key in keys]))


@given(NUMBERS)
def test_sorting_twice_is_sorting_once(values: list[int | None]) -> None:
    """Sorted rows do not change when they are sorted again; descending order has the same rows."""
    sort = {"id": "sortBy", "options": {"sort": [{"field": "v"}]}}
    table = frame("A", v=values, row=list(range(len(values))))
    sorted_once = cells(apply_all([table], sort))
    assert cells(apply_all([table], sort, sort)) == sorted_once
    (descending,) = transform([table], "sortBy", sort=[{"field": "v", "desc": True}])
    assert sorted(descending["row"]) == sorted(sorted_once[0]["row"])


@given(TEXT)
def test_text_is_sorted_without_case_and_accents(values: list[str]) -> None:
    """Empty text is last, digits precede letters, and equal letters keep their order."""
    (table,) = transform([frame("A", v=values)], "sortBy", sort=[{"field": "v"}])
    # Digits are compared as text, and equal ranks are equal letters.
    rank = {"10": 0, "9": 1, "a": 2, "b": 3, "B": 3, "é": 4, "": 5}
    assert table["v"] == sorted(values, key=rank.__getitem__)


@given(KEYS, KEYS)
def test_an_outer_join_has_each_key_once(left: list[int], right: list[int]) -> None:
    """The keys are those of both sides, sorted. A value is that of its key, or undefined."""
    (joined,) = transform([series("A", left, "a"), series("B", right, "b")], "joinByField")
    assert joined["time"] == sorted({*left, *right})
    assert joined["a"] == [key * 10 if key in left else UNDEFINED for key in joined["time"]]
    assert joined["b"] == [key * 10 if key in right else UNDEFINED for key in joined["time"]]


@given(KEYS, KEYS)
def test_an_inner_join_has_each_pair_of_rows(left: list[int], right: list[int]) -> None:
    """A key has as many rows as the product of its rows on both sides, in the order of the left side."""
    (joined,) = transform([series("A", left, "a"), series("B", right, "b")], "joinByField", mode="inner")
    assert joined["time"] == [key for key in left for _ in range(right.count(key))]


@given(KEYS)
def test_groups_partition_the_rows(keys: list[int]) -> None:
    """Each key is one group, and the counts add up to the number of rows."""
    fields = {"k": {"operation": "groupby"}, "v": {"operation": "aggregate", "aggregations": ["count", "sum"]}}
    (grouped,) = transform([frame("A", k=keys, v=[1] * len(keys))], "groupBy", fields=fields)
    assert grouped["k"] == list(dict.fromkeys(keys))
    assert grouped["v (count)"] == grouped["v (sum)"] == [keys.count(key) for key in grouped["k"]]


@given(KEYS)
def test_partitions_have_all_rows(keys: list[int]) -> None:
    """The frames of a partition have each row once, and there is a frame for each key."""
    table = frame("A", k=keys, row=list(range(len(keys))))
    parts = transform([table], "partitionByValues", fields=["k"], keepFields=True)
    # The display name of the column ``row`` ends with the key of the partition.
    rows = [row for part in parts for name, values in part.items() if name.startswith("row") for row in values]
    assert sorted(rows) == list(range(len(keys)))
    assert len(parts) == len(set(keys))


@given(NUMBERS, st.integers(-3, 3), st.sampled_from(["greater", "lower", "equal", "isNull"]))
def test_included_and_excluded_rows_are_all_rows(values: list[int | None], value: int, condition: str) -> None:
    """Each row is in the result of a filter with the type ``include`` or in that with the type ``exclude``, but not in both."""
    filters = [{"fieldName": "v", "config": {"id": condition, "options": {"value": value}}}]
    table = frame("A", v=values, row=list(range(len(values))))
    (included,), (excluded,) = (transform([table], "filterByValue", filters=filters, type=type_) for type_ in ("include", "exclude"))
    assert sorted(included["row"] + excluded["row"]) == list(range(len(values)))


@given(FLOATS, st.sampled_from([0.5, 1, 10]), st.integers(0, 3))
def test_a_histogram_counts_each_value(values: list[float], size: float, offset: int) -> None:
    """The counts add up to the number of values, and each bucket has the same size."""
    (result,) = transform([frame("A", v=values)], "histogram", bucketSize=size, bucketOffset=offset)
    assert sum(result["v"]) == len(values)
    assert all(abs(high - low - size) < 1e-6 for low, high in zip(result["xMin"], result["xMax"], strict=True))


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_transposing_twice_returns_the_cells(rows: list[list[int]]) -> None:
    """A table that is transposed twice has its original cells."""
    table = frame("A", column("row", ["r0", "r1", "r2"]), *(column(f"c{index}", row) for index, row in enumerate(rows)))
    (transposed_twice,) = apply_all([table], {"id": "transpose"}, {"id": "transpose"})
    assert [list(column_of_twice.values) for column_of_twice in transposed_twice.columns[1:]] == rows


@given(NUMBERS)
def test_a_running_sum_ends_with_the_sum(values: list[int | None]) -> None:
    """The last value of a running sum is the total of the column."""
    (running,) = transform([frame("A", v=values)], "calculateField", mode="cumulativeFunctions", alias="r", cumulative={"field": "v"})
    (reduced,) = transform([frame("A", v=values)], "reduce", reducers=["sum"])
    assert running["r"][-1] == reduced["Total"][0]


@given(FLOATS, st.integers(1, 5), st.booleans())
def test_moving_means_are_means_of_windows(values: list[float], size: int, is_centered: bool) -> None:
    """Each moving mean is the mean of the rows in its window."""
    window = {"windowSizeMode": "fixed", "windowSize": size, "windowAlignment": "centered" if is_centered else "trailing"}
    (result,) = transform([frame("A", v=values)], "calculateField", mode="windowFunctions", alias="m", window=window)
    for row, mean in enumerate(result["m"]):
        if is_centered:
            start, end = row - size // 2, row + (size + 1) // 2
        else:
            start, end = row - size + 1, row + 1
        rows = values[max(0, start) : end]
        assert abs(mean - sum(rows) / len(rows)) < 1e-5


@given(KEYS, KEYS)
def test_merged_rows_contain_all_rows(left: list[int], right: list[int]) -> None:
    """Each row of each frame is part of a merged row, and no row is added."""
    tables = [series("A", left, "a"), series("B", right, "b")]
    (merged,) = transform(tables, "merge")
    rows = list(zip(merged["time"], merged["a"], merged["b"], strict=True))
    assert len(rows) <= len(left) + len(right)
    assert {(key, key * 10) for key in left} <= {(time, a) for time, a, _ in rows}
    assert {(key, key * 10) for key in right} <= {(time, b) for time, _, b in rows}
