"""HTML pages of the API's description: an index of all operations with a filter, and a page for each group of operations.

The pages load nothing from other servers. The filter is the only script, and the Content-Security-Policy names its digest.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, NamedTuple

import orjson

from dashwright.api.http.response import JSON
from dashwright.api.http.schemas import reached

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_SCRIPT: Final = """
const input = document.getElementById("filter"), rows = [...document.querySelectorAll("li")], shown = document.getElementById("shown");
function filter() {
  const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  for (const group of document.querySelectorAll("section")) group.hidden = !group.querySelector("li:not([hidden])");
  shown.textContent = rows.filter(row => !row.hidden).length + " of " + rows.length + " operations";
}
input.parentElement.hidden = false;
input.addEventListener("input", filter);
filter();
"""
_DIGEST: Final = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
INDEX_HEADERS: Final = {
    **HEADERS,
    "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; script-src 'sha256-{_DIGEST}'",
}
_HEAD: Final = """
<p>For programs: <a href="openapi.json">OpenAPI 3.1</a>, <a href="openapi/v2">Swagger 2.0</a>,
<a href="openapi/v3">OpenAPI 3.0 for Kubernetes clients</a>.</p>
<p hidden><input id="filter" type="search" placeholder="Filter: words of the method, path or text" autofocus>
<span id="shown" class="soft"></span></p>
"""
_STYLE: Final = """
:root { --text: #1f2430; --soft: #62676e; --page: #fff; --code: #f3f4f6; --line: #e1e4e8; --link: #1557b0 }
@media (prefers-color-scheme: dark) {
  :root { --text: #d8dce4; --soft: #9aa1ab; --page: #16181d; --code: #22252c; --line: #33373f; --link: #8ab4f8 }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
body { color: var(--text); background: var(--page) }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
h1 { margin-bottom: .3rem } h2 { margin: 2.2rem 0 .3rem } h3 b, h3 code { font-size: 15px } h3 { margin: 1.8rem 0 .3rem; font-weight: 600 }
section p { margin: .2rem 0 .5rem }
ul { list-style: none; padding: 0; margin: 0 } li { border-top: 1px solid var(--line); padding: .25rem 0; display: flex; gap: .8rem }
li a { overflow-wrap: anywhere; flex: 1.2 } li span { color: var(--soft); flex: 1 } [hidden] { display: none !important }
b { display: inline-block; min-width: 4.2rem; font: 600 12px/1.5 ui-monospace, monospace } s { color: var(--soft) }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { background: var(--code); padding: .6rem; overflow: auto; max-height: 24rem }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .2rem 1rem .2rem 0; vertical-align: top }
td:first-child { width: 16rem } td:nth-child(2) { width: 18rem; color: var(--soft); overflow-wrap: anywhere }
input { font: inherit; width: 24rem; max-width: 100%; padding: .3rem .5rem }
input { color: inherit; background: var(--page); border: 1px solid var(--soft) }
nav a { display: inline-block; margin-right: 1rem } .soft { color: var(--soft) } summary { cursor: pointer }
"""


_SHOWN_WORDS: Final = 12
"""Values of an enumeration that a page lists."""


class _DescribedOperation(NamedTuple):
    """An operation with its method and path."""

    method: str
    path: str
    operation: Mapping[str, Any]

    @property
    def identifier(self) -> str:
        return str(self.operation["operationId"])


def index(document: Mapping[str, Any]) -> bytes:
    """Return the page that lists every operation, by groups."""
    groups = _groups(document)
    parts = [
        _HEAD,
        f"<nav>{''.join(_link_to(name) for name in groups)}</nav>",
        f"<h2>Examples</h2>{''.join(_example(one, document) for one in _all(document) if _has_example(one.operation))}",
    ]
    descriptions = {tag["name"]: tag.get("description", "") for tag in document["tags"]}
    for name, operations in groups.items():
        rows = "".join(_row(name, one) for one in operations)
        parts.append(
            f'<section id="{slug_of(name)}"><h2><a href="docs/{slug_of(name)}">{escape(name)}</a></h2>'
            f"<p>{_prose(descriptions.get(name, ''))}</p><ul>{rows}</ul></section>"
        )
    parts.append(f"<script>{_SCRIPT}</script>")
    return _page(document, "HTTP API", "".join(parts))


def groups_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of all groups, by how they are written in addresses."""
    return {slug_of(name): name for name in _groups(document)}


def group(document: Mapping[str, Any], name: str) -> bytes:
    """Return the page of a group: its operations, and the schemas that they refer to."""
    operations = _groups(document)[name]
    schemas = document["components"]["schemas"]
    parts = ['<p><a href="../docs">All operations</a> · <a href="../openapi.json">openapi.json</a></p>']
    parts += [_operation(one, document) for one in operations]
    parts.append("<h2>Schemas</h2>")
    parts += [_schema_table(found, schemas[found]) for found in sorted(reached([one.operation for one in operations], schemas))]
    return _page(document, name, "".join(parts))


def slug_of(name: str) -> str:
    """Return the name of a group as it is written in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _groups(document: Mapping[str, Any]) -> dict[str, list[_DescribedOperation]]:
    found: dict[str, list[_DescribedOperation]] = {}
    for one in _all(document):
        found.setdefault((one.operation.get("tags") or ["Other"])[0], []).append(one)
    return dict(sorted(found.items()))


def _all(document: Mapping[str, Any]) -> Iterator[_DescribedOperation]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield _DescribedOperation(method.upper(), path, operation)


def _page(document: Mapping[str, Any], title: str, body: str) -> bytes:
    product = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} · {product}</title><style>{_STYLE}</style></head>"
        f'<body><h1>{escape(title)}</h1><p class="soft">{product}</p>{body}</body></html>'
    ).encode()


def _link_to(name: str) -> str:
    return f'<a href="#{slug_of(name)}">{escape(name)}</a>'


def _row(name: str, one: _DescribedOperation) -> str:
    return (
        f'<li><a href="docs/{slug_of(name)}#{escape(one.identifier)}">{_place(one)}</a><span>{escape(one.operation["summary"])}</span></li>'
    )


def _place(one: _DescribedOperation) -> str:
    shown = f"<b>{escape(one.method)}</b><code>{escape(one.path)}</code>"
    return f"<s>{shown}</s>" if one.operation.get("deprecated") else shown


def _operation(one: _DescribedOperation, document: Mapping[str, Any]) -> str:
    operation = one.operation
    parts = [f'<h3 id="{escape(one.identifier)}">{_place(one)}</h3><p>{_prose(operation["summary"])}</p>']
    if operation.get("deprecated"):
        parts.append("<p>Deprecated.</p>")
    parts += [f'<p class="soft">{_prose(text)}</p>' for text in operation.get("description", "").split("\n\n") if text]
    rows = [
        (f"<code>{escape(item['name'])}</code> {item['in']}", _type_text(item["schema"]), _prose(item.get("description", "")))
        for item in operation.get("parameters", ())
    ]
    rows += [("body", _content(body), "") for body in [operation.get("requestBody")] if body]
    rows += [
        (escape(status), _content(response), escape(response["description"]))
        for status, response in operation["responses"].items()
        if status < "400"
    ]
    failures = ", ".join(status for status in operation["responses"] if status >= "400")
    rows.append(("errors", escape(failures), ""))
    parts.append(f"<table>{''.join(f'<tr><td>{a}</td><td>{b}</td><td>{c}</td></tr>' for a, b, c in rows)}</table>")
    if _has_example(operation):
        parts.append(_example(one, document))
    return "".join(parts)


def _content(described: Mapping[str, Any]) -> str:
    """Return the types of a body, each with the media types that it comes in."""
    by_type: dict[str, list[str]] = {}
    for media, content in described.get("content", {}).items():
        by_type.setdefault(_type_text(content["schema"]), []).append(media)
    return "<br>".join(f"{kind} as {escape(', '.join(media))}" if media != [JSON] else kind for kind, media in by_type.items()) or "no body"


def _has_example(operation: Mapping[str, Any]) -> bool:
    bodies = (operation.get("requestBody", {}), *operation["responses"].values())
    return any("example" in content for body in bodies for content in body.get("content", {}).values())


def _example(one: _DescribedOperation, document: Mapping[str, Any]) -> str:
    """Return a request as a command line, and its response."""
    path = one.path
    for parameter in one.operation.get("parameters", ()):
        if "example" in parameter:
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    request = one.operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("example")
    command = [f"curl --user admin -X {one.method} http://127.0.0.1:3000{path}"]
    if request is not None:
        command += ["--header 'Content-Type: application/json'", f"--data '{_json(request)}'"]
    text = " \\\n  ".join(command)
    responses = [
        response["content"][JSON]
        for status, response in one.operation["responses"].items()
        if status < "300" and JSON in response.get("content", {})
    ]
    shown = next((f"<pre>{escape(_json(response['example']))}</pre>" for response in responses if "example" in response), "")
    head = f"{_prose(one.operation['summary'])}: {_place(one)}"
    return f"<details><summary>{head}</summary><pre>{escape(text)}</pre>{shown}</details>"


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _prose(text: str) -> str:
    """Return a text as HTML, with a capital first letter and backticked words as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text[:1].upper() + text[1:]))


def _type_text(schema: Mapping[str, Any]) -> str:
    """Return a type in words, as HTML; the schema of an object that has a name is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_type_text(part) for part in schema[word]))
    if "enum" in schema:
        words = [str(word) or "(empty)" for word in schema["enum"]]
        return escape(", ".join(words[:_SHOWN_WORDS]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type_text(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {_type_text(schema['additionalProperties'])}"
    return escape(f"{kind} ({schema['format']})" if "format" in schema else str(kind or "anything"))


def _schema_table(name: str, schema: Mapping[str, Any]) -> str:
    """Return a schema as HTML: its description and its members."""
    head = f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3><p>{_prose(schema.get("description", ""))}</p>'
    if "properties" not in schema:
        return f"{head}<p>{_type_text(schema)}</p>"
    required = set(schema.get("required", ()))
    rows = [
        f"<tr><td><code>{escape(member)}</code>{' required' if member in required else ''}</td>"
        f"<td>{_type_text(part)}</td><td>{_prose(part.get('description', ''))}</td></tr>"
        for member, part in schema["properties"].items()
    ]
    return f"{head}<table>{''.join(rows)}</table>"
