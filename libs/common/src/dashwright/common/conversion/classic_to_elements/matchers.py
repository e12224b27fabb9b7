"""Matchers, which select the fields of an override or the frames of a transformation."""

from typing import Final

from dashwright.common.conversion.classic_to_elements.members import Members, text

_MEMBER_COUNT: Final = 2  # an id and options


def matcher(members: Members) -> Members:
    """Return a matcher with its id and its options. A matcher that has just them is returned itself."""
    options = members.get("options")
    if options is not None and len(members) == _MEMBER_COUNT and isinstance(members.get("id"), str):
        return members
    return {"id": text(members, "id")} if options is None else {"id": text(members, "id"), "options": options}
