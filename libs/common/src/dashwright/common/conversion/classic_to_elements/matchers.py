"""Matchers, which select the fields of an override or the frames of a transformation."""

from typing import Final

from dashwright.common.conversion.classic_to_elements.members import Members, text

_MEMBERS: Final = {"id", "options"}


def matcher(members: Members) -> Members:
    """Return a matcher with its id and its options. A matcher that has just them is returned itself."""
    options = members.get("options")
    if options is not None and members.keys() == _MEMBERS and isinstance(members["id"], str):
        return members
    return {"id": text(members, "id")} if options is None else {"id": text(members, "id"), "options": options}
