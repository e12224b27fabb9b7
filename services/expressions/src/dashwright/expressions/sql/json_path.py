"""MySQL's JSON paths as DuckDB writes them."""

import re
from dataclasses import dataclass

_LEG = re.compile(
    r"""\s*(?:\.\s*(?P<star>\*)|\.\s*(?P<key>[^\s."*\[\]]+)|\.\s*(?P<quoted>"(?:[^"\\]|\\.)*")|\[\s*(?P<all>\*)\s*\]
    |\[\s*(?P<last>last)\s*(?:-\s*(?P<before>\d+))?\s*\]|\[\s*(?P<index>\d+)\s*\]|(?P<deep>\*\*))""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """``text`` for DuckDB; ``parent`` is it without its last leg (None for ``$``), ``index`` that leg's place in an array.

    ``many``: whether it may lead to several places.
    """

    text: str
    parent: str | None
    index: bool
    many: bool


def read_path(text: str) -> JsonPath | None:
    """None where it is no path, or has a range, which DuckDB's have not."""
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
