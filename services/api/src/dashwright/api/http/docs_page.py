"""HTML pages of the API's description: an index of all operations with a filter, and a page for each group of operations.

The pages load nothing from other servers. The filter is the only script, and the Content-Security-Policy names its digest.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, NamedTuple

import orjson

from dashwright.api.http.html import csp_source
from dashwright.api.http.response import JSON
from dashwright.api.http.schemas import referenced_names

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
# With this attribute, a user can scroll an element by keyboard, as WCAG 2.1.1 requires.
_FOCUSABLE: Final = 'tabindex="0"'
_INDEX_INTRODUCTION: Final = """
<p>For programs: <a href="openapi.json">OpenAPI 3.1</a>, <a href="openapi/v2">Swagger 2.0</a>,
<a href="openapi/v3">OpenAPI 3.0 for Kubernetes clients</a>.
The queue: <a href="asyncapi.json">AsyncAPI 3.0</a>.</p>
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
ul { list-style: none; padding: 0; margin: 0 } td a, p a { text-decoration: underline }
li { border-top: 1px solid var(--line); padding: .25rem 0; display: flex; flex-wrap: wrap; gap: 0 .8rem }
li a { overflow-wrap: anywhere; flex: 1.2 18rem } li span { color: var(--soft); flex: 1 15rem } [hidden] { display: none !important }
b { display: inline-block; min-width: 4.2rem; font: 600 12px/1.5 ui-monospace, monospace } s { color: var(--soft) }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { background: var(--code); padding: .6rem; overflow: auto; max-height: 24rem }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .2rem 1rem .2rem 0; vertical-align: top }
td:first-child { width: 16rem } td:nth-child(2) { width: 18rem; color: var(--soft); overflow-wrap: anywhere }
input { font: inherit; width: 24rem; max-width: 100%; padding: .3rem .5rem }
input { color: inherit; background: var(--page); border: 1px solid var(--soft) }
nav a { display: inline-block; margin-right: 1rem }
h2, h3, p, code { overflow-wrap: anywhere } .soft { color: var(--soft) } summary { cursor: pointer }
@media (max-width: 700px) {
  table, tbody, tr, td { display: block } tr { border-top: 1px solid var(--line); padding: .2rem 0 }
  td { border: 0; padding: 0; overflow-wrap: anywhere } td:first-child, td:nth-child(2) { width: auto }
}
"""
HEADERS: Final = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {csp_source(_STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}
"""Headers of a page without script."""
INDEX_HEADERS: Final = {
    **HEADERS,
    "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; script-src {csp_source(_SCRIPT)}",
}
_MAX_ENUM_VALUES: Final = 12
"""Largest number of values of an enumeration that a page lists."""


class _Endpoint(NamedTuple):
    """An operation with its method and path."""

    method: str
    path: str
    operation: Mapping[str, Any]

    @property
    def operation_id(self) -> str:
        return str(self.operation["operationId"])


def index_page(document: Mapping[str, Any]) -> bytes:
    """Return the HTML page that lists every operation, by groups."""
    groups = _endpoints_by_group(document)
    examples = "".join(_example_html(endpoint, document) for endpoint in _endpoints(document) if _has_example(endpoint.operation))
    parts = [
        _INDEX_INTRODUCTION,
        f"<nav>{''.join(_group_link(name) for name in groups)}</nav>",
        f"<h2>Examples</h2>{examples}",
    ]
    descriptions = {tag["name"]: tag.get("description", "") for tag in document["tags"]}
    for name, endpoints in groups.items():
        rows = "".join(_index_row(name, endpoint) for endpoint in endpoints)
        parts.append(
            f'<section id="{slug_of(name)}"><h2><a href="docs/{slug_of(name)}">{escape(name)}</a></h2>'
            f"<p>{_inline_html(descriptions.get(name, ''))}</p><ul>{rows}</ul></section>"
        )
    parts.append(f"<script>{_SCRIPT}</script>")
    return _page(document, "HTTP API", "".join(parts))


def groups_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of all groups, by their slugs."""
    return {slug_of(name): name for name in _endpoints_by_group(document)}


def group_page(document: Mapping[str, Any], name: str) -> bytes:
    """Return the HTML page of a group: its operations, and the schemas that they refer to."""
    endpoints = _endpoints_by_group(document)[name]
    schemas = document["components"]["schemas"]
    parts = ['<p><a href="../docs">All operations</a> · <a href="../openapi.json">openapi.json</a></p><h2>Operations</h2>']
    parts += [_operation_html(endpoint, document) for endpoint in endpoints]
    parts.append("<h2>Schemas</h2>")
    schema_names = referenced_names([endpoint.operation for endpoint in endpoints], schemas)
    parts += [_schema_table(schema_name, schemas[schema_name]) for schema_name in sorted(schema_names)]
    return _page(document, name, "".join(parts))


def slug_of(name: str) -> str:
    """Return the name of a group as it is written in URLs: lower-case words, separated by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _endpoints_by_group(document: Mapping[str, Any]) -> dict[str, list[_Endpoint]]:
    """Return the endpoints by their first tag, sorted by tag."""
    groups: dict[str, list[_Endpoint]] = {}
    for endpoint in _endpoints(document):
        tags = endpoint.operation.get("tags") or ["Other"]
        groups.setdefault(tags[0], []).append(endpoint)
    return dict(sorted(groups.items()))


def _endpoints(document: Mapping[str, Any]) -> Iterator[_Endpoint]:
    """Yield all operations of a document, in the order of their paths."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield _Endpoint(method.upper(), path, operation)


def _page(document: Mapping[str, Any], title: str, body: str) -> bytes:
    """Return an HTML page with a title, the product's name and version, and a body of HTML."""
    product = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} · {product}</title><style>{_STYLE}</style></head>"
        f'<body><main><h1>{escape(title)}</h1><p class="soft">{product}</p>{body}</main></body></html>'
    ).encode()


def _group_link(name: str) -> str:
    return f'<a href="#{slug_of(name)}">{escape(name)}</a>'


def _index_row(group: str, endpoint: _Endpoint) -> str:
    """Return the row of an operation on the index: a link to its description, and its summary."""
    return (
        f'<li><a href="docs/{slug_of(group)}#{escape(endpoint.operation_id)}">{_method_and_path(endpoint)}</a>'
        f"<span>{escape(endpoint.operation['summary'])}</span></li>"
    )


def _method_and_path(endpoint: _Endpoint) -> str:
    html = f"<b>{escape(endpoint.method)}</b><code>{escape(endpoint.path)}</code>"
    # Deprecated operations are struck through.
    return f"<s>{html}</s>" if endpoint.operation.get("deprecated") else html


def _operation_html(endpoint: _Endpoint, document: Mapping[str, Any]) -> str:
    """Return the HTML of an operation: its texts, a table of its parameters, bodies and error statuses, and its example."""
    operation = endpoint.operation
    parts = [f'<h3 id="{escape(endpoint.operation_id)}">{_method_and_path(endpoint)}</h3><p>{_inline_html(operation["summary"])}</p>']
    if operation.get("deprecated"):
        parts.append("<p>Deprecated.</p>")
    parts += [f'<p class="soft">{_inline_html(text)}</p>' for text in operation.get("description", "").split("\n\n") if text]
    rows = [
        (
            f"<code>{escape(parameter['name'])}</code> {parameter['in']}",
            _type_html(parameter["schema"]),
            _inline_html(parameter.get("description", "")),
        )
        for parameter in operation.get("parameters", ())
    ]
    if body := operation.get("requestBody"):
        rows.append(("body", _body_html(body), ""))
    rows += [
        (escape(status), _body_html(response), escape(response["description"]))
        for status, response in operation["responses"].items()
        if status < "400"  # Statuses are strings of three digits, whose alphabetical order is that of the numbers.
    ]
    error_statuses = ", ".join(status for status in operation["responses"] if status >= "400")
    rows.append(("errors", escape(error_statuses), ""))
    cells = "".join(f"<tr><td>{name}</td><td>{type_}</td><td>{description}</td></tr>" for name, type_, description in rows)
    parts.append(f"<table>{cells}</table>")
    if _has_example(operation):
        parts.append(_example_html(endpoint, document))
    return "".join(parts)


def _body_html(body: Mapping[str, Any]) -> str:
    """Return the types of a body as HTML, each with its media types."""
    media_types_by_type: dict[str, list[str]] = {}
    for media_type, content in body.get("content", {}).items():
        media_types_by_type.setdefault(_type_html(content["schema"]), []).append(media_type)
    lines = [
        type_ if media_types == [JSON] else f"{type_} as {escape(', '.join(media_types))}"
        for type_, media_types in media_types_by_type.items()
    ]
    return "<br>".join(lines) or "no body"


def _has_example(operation: Mapping[str, Any]) -> bool:
    """Return whether a body of the operation, of the request or of a response, has an example."""
    bodies = (operation.get("requestBody", {}), *operation["responses"].values())
    return any("example" in content for body in bodies for content in body.get("content", {}).values())


def _example_html(endpoint: _Endpoint, document: Mapping[str, Any]) -> str:
    """Return the HTML of an example: the request as a command line, and its response."""
    path = endpoint.path
    for parameter in endpoint.operation.get("parameters", ()):
        if "example" in parameter:
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    request = endpoint.operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("example")
    command = [f"curl --user admin -X {endpoint.method} http://127.0.0.1:3000{path}"]
    if request is not None:
        command += ["--header 'Content-Type: application/json'", f"--data '{_json(request)}'"]
    command_line = " \\\n  ".join(command)
    responses = [
        response["content"][JSON]
        for status, response in endpoint.operation["responses"].items()
        if status < "300" and JSON in response.get("content", {})
    ]
    response_html = next(
        (f"<pre {_FOCUSABLE}>{escape(_json(response['example']))}</pre>" for response in responses if "example" in response), ""
    )
    heading = f"{_inline_html(endpoint.operation['summary'])}: {_method_and_path(endpoint)}"
    return f"<details><summary>{heading}</summary><pre {_FOCUSABLE}>{escape(command_line)}</pre>{response_html}</details>"


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _inline_html(text: str) -> str:
    """Return Markdown text as HTML, with a capital first letter and backticked words as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text[:1].upper() + text[1:]))


def _type_html(schema: Mapping[str, Any]) -> str:
    """Return the description of a type as HTML. A named schema is a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for keyword, conjunction in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
        if keyword in schema:
            return conjunction.join(dict.fromkeys(_type_html(part) for part in schema[keyword]))
    if "enum" in schema:
        values = [str(value) or "(empty)" for value in schema["enum"]]
        if len(values) > _MAX_ENUM_VALUES:
            values = [*values[:_MAX_ENUM_VALUES], "…"]
        return escape(", ".join(values))
    type_name = schema.get("type")
    if type_name == "array":
        return f"list of {_type_html(schema.get('items', {}))}"
    if type_name == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {_type_html(schema['additionalProperties'])}"
    return escape(f"{type_name} ({schema['format']})" if "format" in schema else str(type_name or "anything"))


def _schema_table(name: str, schema: Mapping[str, Any]) -> str:
    """Return the HTML of a schema: its description and a table of its members."""
    heading = f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3><p>{_inline_html(schema.get("description", ""))}</p>'
    if "properties" not in schema:
        return f"{heading}<p>{_type_html(schema)}</p>"
    required = set(schema.get("required", ()))
    rows = [
        f"<tr><td><code>{escape(member)}</code>{' required' if member in required else ''}</td>"
        f"<td>{_type_html(member_schema)}</td><td>{_inline_html(member_schema.get('description', ''))}</td></tr>"
        for member, member_schema in schema["properties"].items()
    ]
    return f"{heading}<table>{''.join(rows)}</table>"
