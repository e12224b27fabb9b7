"""Matchers, which select the fields of an override or the frames of a transformation."""

from typing import Any

from dashwright.common.conversion.classic_to_elements.members import Members, text


def matcher(members: Members) -> dict[str, Any]:
    """Return a matcher with its id and its options."""
    options = members.get("options")
    return {"id": text(members, "id")} if options is None else {"id": text(members, "id"), "options": options}
