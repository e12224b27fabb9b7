"""MySQL's JSON paths in DuckDB's notation."""

import re
from dataclasses import dataclass

#: A leg of a path: ``.*``, ``.key``, ``."key"``, ``[*]``, ``[last - 1]``, ``[0]``, or ``**`` for any number of legs.
_LEG = re.compile(
    r"""\s*(?:\.\s*(?P<star>\*)|\.\s*(?P<key>[^\s."*\[\]]+)|\.\s*(?P<quoted>"(?:[^"\\]|\\.)*")|\[\s*(?P<all>\*)\s*\]
    |\[\s*(?P<last>last)\s*(?:-\s*(?P<before>\d+))?\s*\]|\[\s*(?P<index>\d+)\s*\]|(?P<deep>\*\*))""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A JSON path."""

    duckdb_path: str  #: The path in DuckDB's notation.
    parent: str | None  #: The path without its last leg; None for ``$``.
    ends_with_index: bool  #: Whether the last leg is a position in an array.
    has_wildcard: bool  #: Whether the path may match several values.


def parse_path(source: str) -> JsonPath | None:
    """Return the parsed path, or None if it is invalid or has a range, which DuckDB does not support."""
    if not source.lstrip().startswith("$"):
        return None
    # The first, empty leg is the ``$`` itself.
    remainder, legs, has_wildcard, ends_with_index = source.strip()[1:], [""], False, False
    while remainder:
        leg = _LEG.match(remainder)
        if leg is None:
            return None
        remainder = remainder[leg.end() :]
        has_wildcard = has_wildcard or any(leg[name] for name in ("star", "all", "deep"))
        ends_with_index = bool(leg["index"] or leg["last"])
        legs.append(_duckdb_leg(leg))
    # DuckDB writes ``**.key`` as ``..key``, and ``**[0]`` as ``..[0]``.
    duckdb_path = re.sub(r"\*\*\.", "..", "$" + "".join(legs)).replace("**[", "..[")
    return JsonPath(duckdb_path, "$" + "".join(legs[:-1]) if len(legs) > 1 else None, ends_with_index, has_wildcard)


def _duckdb_leg(leg: re.Match[str]) -> str:
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
