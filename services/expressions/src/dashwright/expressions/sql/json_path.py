"""MySQL's JSON paths in DuckDB's notation."""

import re
from dataclasses import dataclass

_LEG = re.compile(
    r"""\s*(?:\.\s*(?P<star>\*)|\.\s*(?P<key>[^\s."*\[\]]+)|\.\s*(?P<quoted>"(?:[^"\\]|\\.)*")|\[\s*(?P<all>\*)\s*\]
    |\[\s*(?P<last>last)\s*(?:-\s*(?P<before>\d+))?\s*\]|\[\s*(?P<index>\d+)\s*\]|(?P<deep>\*\*))""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A JSON path."""

    text: str  #: In DuckDB's notation.
    parent: str | None  #: The path without its last leg; None for ``$``.
    index: bool  #: The last leg is a position in an array.
    many: bool  #: It may lead to several places.


def read_path(text: str) -> JsonPath | None:
    """Return the path, or None if it is invalid or has a range, which DuckDB does not support."""
    if not text.lstrip().startswith("$"):
        return None
    rest, legs, many, index = text.strip()[1:], [""], False, False
    while rest:
        leg = _LEG.match(rest)
        if leg is None:
            return None
        rest = rest[leg.end() :]
        many = many or any(leg[name] for name in ("star", "all", "deep"))
        index = bool(leg["index"] or leg["last"])
        legs.append(_written(leg))
    whole = re.sub(r"\*\*\.", "..", "$" + "".join(legs)).replace("**[", "..[")
    return JsonPath(whole, "$" + "".join(legs[:-1]) if len(legs) > 1 else None, index, many)


def _written(leg: re.Match[str]) -> str:
    if leg["star"]:
        return ".*"
    if leg["all"]:
        return "[*]"
    if leg["deep"]:
        return "**"
    if leg["last"]:
        return f"[#-{int(leg['before'] or 0) + 1}]"
    return f"[{int(leg['index'])}]" if leg["index"] else f".{leg['quoted'] or _quoted(leg['key'])}"


def _quoted(key: str) -> str:
    return f'"{key}"'
