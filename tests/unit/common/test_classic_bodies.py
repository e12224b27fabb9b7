"""Laws of the bodies of dashboards in the classic API (``/api``), for any body."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dashwright.common.models.api_model import Integer64
from dashwright.common.models.classic import ClassicBody, Name


class Address(ClassicBody):
    """An object inside a body."""

    zip_code: Name = ""


class Body(ClassicBody):
    """A body with a required member, and with optional ones of each type."""

    name: Name
    org_id: Integer64 = 1
    is_disabled: bool = False
    address: Address = Address()


def parse_body(text: str) -> Body:
    """Return the body of a request. Raises ValidationError."""
    return Body.model_validate_json(text)


ORG_ID_IN_ANY_CASE = st.tuples(*(st.sampled_from([letter.lower(), letter.upper()]) for letter in "orgId")).map("".join)


@given(ORG_ID_IN_ANY_CASE)
def test_names_match_in_any_case(org_id: str) -> None:
    """OrgId, orgid and ORGID are one property. The names of properties in inner objects match in any case, too."""
    body = parse_body(json.dumps({"NAME": "n", org_id: 7, "Address": {"ZIPCODE": "z"}}))
    assert body.name == "n"
    assert body.org_id == 7
    assert body.address.zip_code == "z"


def test_only_aliases_are_accepted() -> None:
    """Only the spelling of a member in the API is accepted. The spelling in Python counts as another member, which is ignored."""
    # The default.
    assert parse_body('{"name": "n", "org_id": 7}').org_id == 1


def test_the_last_of_equal_keys_wins() -> None:
    """The last of several keys that differ in case counts, unless it is null."""
    assert parse_body('{"name": "a", "Name": "b"}').name == "b"
    assert parse_body('{"Name": "b", "name": "a"}').name == "a"
    assert parse_body('{"name": "a", "name": "b"}').name == "b"
    assert parse_body('{"name": "a", "Name": null}').name == "a"


def test_null_is_missing() -> None:
    """A null counts as missing: the default applies, and a required member is still missing."""
    body = parse_body('{"name": "n", "orgId": null, "isDisabled": false}')
    assert body.org_id == 1
    assert body.model_fields_set == {"name", "is_disabled"}
    with pytest.raises(ValidationError):
        parse_body('{"name": null}')


def test_other_properties_have_no_effect() -> None:
    """Properties that the model does not declare are neither errors nor kept."""
    body = parse_body('{"name": "n", "isAdmin": true, "id": 1, "": 2, "__class__": 3, "model_config": {}}')
    assert body.model_dump() == Body(name="n").model_dump()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '"name"',
        "{}",
        '{"name": 1}',
        '{"name": ["n"]}',
        '{"name": "n", "orgId": "1"}',
        '{"name": "n", "orgId": 1.0}',
        '{"name": "n", "orgId": 1e2}',
        '{"name": "n", "orgId": true}',
        '{"name": "n", "orgId": 9223372036854775808}',
        '{"name": "n", "orgId": -9223372036854775809}',
        '{"name": "n", "isDisabled": 1}',
        '{"name": "n", "isDisabled": "true"}',
        '{"name": "n", "address": []}',
        '{"name": "n", "address": {"zipCode": 1}}',
        '{"name": "a\\u0000b"}',
        '{"name": "\\ud800"}',
        json.dumps({"name": "n" * 191}),
        "[" * 100_000,
        '{"name": "n"} x',
    ],
    ids=lambda text: text[:60],
)
def test_invalid_bodies_are_refused(text: str) -> None:
    """A body is refused if it is not an object, or if a member is missing or has a wrong type.

    Numbers beyond 64 bits, and texts that the database cannot hold, are refused too.
    """
    with pytest.raises(ValidationError):
        parse_body(text)


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_integers_of_64_bits_are_accepted(number: int) -> None:
    """An integer at either end of the range of 64 bits is accepted."""
    assert parse_body(json.dumps({"name": "n", "orgId": number})).org_id == number


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_any_json_is_accepted_or_rejected(tree: Any) -> None:
    """A body of any JSON causes at most a client error."""
    with suppress(ValidationError):
        parse_body(json.dumps(tree))
