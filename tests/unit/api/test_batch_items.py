"""Parsing of the items of a batch: valid items are read, and invalid items are refused with a reason."""

from typing import Any

import orjson
import pytest

from dashwright.api.domain.batch_items import CheckedItem, RefusedItem, read_line

# The valid specs of a job and of an evaluation.
SYNC: dict[str, Any] = {"action": "sync", "repository": "team", "sync": {}}
PANEL: dict[str, Any] = {"panel": {"type": "timeseries", "targets": []}}


@pytest.mark.parametrize(
    ("item", "item_id", "kind"),
    [
        ({"spec": SYNC}, None, "Job"),
        ({"id": "a", "kind": "Job", "spec": SYNC}, "a", "Job"),
        ({"id": None, "kind": None, "spec": {"repository": "team", "pull": {}}}, None, "Job"),
        ({"kind": "Evaluation", "spec": PANEL}, None, "Evaluation"),
    ],
)
def test_a_valid_item_is_read(item: dict[str, Any], item_id: str | None, kind: str) -> None:
    """An item has the id and kind of its line; the default kind is Job. Only jobs have a parsed spec."""
    checked = read_line(orjson.dumps(item))
    assert isinstance(checked, CheckedItem)
    assert checked.id == item_id
    assert checked.kind == kind
    has_parsed_spec = checked.job is not None
    assert has_parsed_spec == (kind == "Job")


def test_equal_specs_are_equal_strings() -> None:
    """Specs that differ only in the order of members, in aliases or in defaults become equal strings."""
    # ``pull`` is the alias of ``sync``; the action follows from it, and ``incremental`` is false by default.
    specs = (SYNC, {"sync": {"incremental": False}, "repository": "team"}, {"repository": "team", "pull": {}})
    items = [read_line(orjson.dumps({"spec": spec})) for spec in specs]
    # The message of a refused item is shown if the assertion fails.
    assert len({item.spec if isinstance(item, CheckedItem) else item.message for item in items}) == 1


@pytest.mark.parametrize(
    ("line", "item_id", "message"),
    [
        (b"{", None, "the item is not JSON"),
        # Invalid UTF-8.
        (b"\xff", None, "the item is not JSON"),
        (b"[]", None, "Input should be an object"),
        (b'{"id": "a"}', "a", "spec: Field required"),
        (b'{"id": 7, "spec": {}}', None, "id: Input should be a valid string"),
        (b'{"id": "", "spec": {}}', None, "id: String should have at least 1 character"),
        (b'{"id": "a\\u0000", "spec": {}}', None, "cannot be stored"),
        (b'{"id": "a", "kind": "Batch", "spec": {}}', "a", "kind: Input should be 'Job' or 'Evaluation'"),
        (b'{"spec": {}}', None, "spec.action: Required value"),
        (b'{"spec": {"action": "sync", "repository": "team"}}', None, "spec.sync: Required value"),
        (
            b'{"spec": {"repository": "team", "sync": {"incrementel": true}}}',
            None,
            "spec.sync.incrementel: Forbidden: unknown field; did you",
        ),
        (b'{"ids": "a", "spec": {"repository": "team", "sync": {}}}', None, 'ids: Forbidden: unknown field; did you mean "id"?'),
        (b'{"kind": "Evaluation", "spec": {}}', None, "spec.panel: Field required"),
        (b'{"kind": "Evaluation", "spec": {"panel": {"a":' + b"[" * 300 + b"]" * 300 + b"}}}", None, "Recursion limit"),
    ],
)
def test_an_invalid_item_is_refused(line: bytes, item_id: str | None, message: str) -> None:
    """The refusal of an item has the item's id, if that is valid, and says what is wrong."""
    refused = read_line(line)
    assert isinstance(refused, RefusedItem)
    assert refused.id == item_id
    assert message in refused.message
