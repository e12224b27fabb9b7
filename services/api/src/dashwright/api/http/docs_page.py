"""The OpenAPI document as a page for people: one static file without scripts, and nothing from elsewhere."""

from collections.abc import Mapping
from html import escape
from typing import Any, Final

import orjson

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1f2430; background: #fff }
summary { cursor: pointer; padding: .2rem 0 } details details { margin-left: 1.5rem } h2 { margin-top: 2rem }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { background: #f3f4f6; padding: .6rem; overflow: auto; max-height: 30rem }
b { display: inline-block; min-width: 4.5rem } s { color: #777 } table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0 }
@media (prefers-color-scheme: dark) { body { color: #d8dce4; background: #16181d } pre { background: #22252c } a { color: #8ab4f8 } }
"""


def page(document: Mapping[str, Any]) -> bytes:
    """HTML of ``document``: its operations by tag, each with parameters, bodies and answers, then its schemas."""
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault((operation.get("tags") or ["other"])[0], []).append(_operation(method, path, operation))
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    parts = [
        (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{title}: HTTP API</title><style>{_STYLE}</style></head><body><h1>{title}: HTTP API</h1>"
            '<p>The same for programs: <a href="openapi.json">openapi.json</a></p>'
        )
    ]
    parts += [f"<h2>{escape(tag)}</h2>{''.join(operations)}" for tag, operations in sorted(by_tag.items())]
    schemas = document["components"]["schemas"]
    parts.append("<h2>Schemas</h2>")
    parts += [
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>{_json(schemas[name])}</details>'
        for name in sorted(schemas)
    ]
    parts.append("</body></html>")
    return "".join(parts).encode()


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    shown = f"<b>{escape(method.upper())}</b> <code>{escape(path)}</code>"
    if operation.get("deprecated"):
        shown = f"<s>{shown}</s> deprecated:"
    parts = [f"<details><summary>{shown} {escape(operation['summary'])}</summary>"]
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in operation.get("description", "").split("\n\n") if paragraph]
    if parameters := operation.get("parameters"):
        parts.append(f"<table>{''.join(_parameter(parameter) for parameter in parameters)}</table>")
    if "requestBody" in operation:
        parts.append(f"<details><summary>Body</summary>{_contents(operation['requestBody'])}</details>")
    for status, response in operation["responses"].items():
        parts.append(f"<details><summary>{escape(status)} {escape(response['description'])}</summary>{_contents(response)}</details>")
    return "".join([*parts, "</details>"])


def _parameter(parameter: Mapping[str, Any]) -> str:
    cells = (parameter["name"], parameter["in"], parameter["schema"].get("type", ""), parameter.get("description", ""))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _contents(described: Mapping[str, Any]) -> str:
    """The bodies of a request or an answer; a schema of the list below is a link to it."""
    found = []
    for media_type, content in described.get("content", {}).items():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        schema = f'<a href="#{escape(name)}">{escape(name)}</a>' if name else _json(content["schema"])
        found.append(f"<p><code>{escape(media_type)}</code> {schema}</p>" if name else f"<p><code>{escape(media_type)}</code></p>{schema}")
    return "".join(found) or "<p>no body</p>"


def _json(value: Any) -> str:
    return f"<pre>{escape(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())}</pre>"
