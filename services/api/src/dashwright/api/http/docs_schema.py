"""Schemas as people read them: types in words, and the members of an object as a table."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

_SHOWN_WORDS = 12


def prose(text: str) -> str:
    """Return a text as HTML: with a capital letter, and with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text[:1].upper() + text[1:]))


def type_text(schema: Mapping[str, Any]) -> str:
    """Return a type in words, as HTML; the schema of an object that has a name is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(type_text(part) for part in schema[word]))
    if "enum" in schema:
        words = [str(word) or "(empty)" for word in schema["enum"]]
        return escape(", ".join(words[:_SHOWN_WORDS]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {type_text(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {type_text(schema['additionalProperties'])}"
    return escape(f"{kind} ({schema['format']})" if "format" in schema else str(kind or "anything"))


def schema_table(name: str, schema: Mapping[str, Any]) -> str:
    """Return a schema as HTML: what it is, and its members."""
    head = f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3><p>{prose(schema.get("description", ""))}</p>'
    if "properties" not in schema:
        return f"{head}<p>{type_text(schema)}</p>"
    required = set(schema.get("required", ()))
    rows = [
        f"<tr><td><code>{escape(member)}</code>{' required' if member in required else ''}</td>"
        f"<td>{type_text(part)}</td><td>{prose(part.get('description', ''))}</td></tr>"
        for member, part in schema["properties"].items()
    ]
    return f"{head}<table>{''.join(rows)}</table>"
