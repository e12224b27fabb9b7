"""The reference pages are correct: their tables equal those of the code, and every example has the response after it."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from docs.tables import PAGE, page_with_tables
from tests.specs.test_expression_specs import read_file
from tests.specs.test_expression_specs import test_an_expression_has_the_result_of_its_case as check_case
from tests.unit.expressions.sources.records import MemoryRecords, source_record
from tests.unit.expressions.sources.servers import FakeServer, loopback_client, respond_with, success

from dashwright.common.models.expressions import TARGETS, VARIANT_PROPERTIES
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.engine import classic_reducers
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.predicates import BOUND_COUNTS
from dashwright.expressions.engine.sampling import UPSAMPLERS
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sources.prometheus.source import Prometheus
from dashwright.expressions.sources.registry import SourceRegistry
from dashwright.expressions.sql.engine import SqlEngine

FOLDER = PAGE.parent
PAGES = (
    PAGE,
    *(FOLDER / f"{name}.md" for name in ("queries", "frames", "data-sources", "sql-tables")),
    FOLDER.parent / "how-to" / "alert-rules.md",
)
# A block begins with its language and, for examples, a label: ```json request.
_FENCE = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([\w-]+\.md)?(?:#([\w-]+))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ENDPOINTS = {"request": QueryEndpoint.QUERY, "panel": QueryEndpoint.PANEL}
_RESPONSES = {("text", "answer"), ("json", "answer"), ("json", "explain")}
_BLOCKS_WITHOUT_REQUEST = {("text", "spec"), ("python", ""), ("sh", ""), ("text", "sent")}
_KNOWN_BLOCKS = {
    ("json", "request"),
    ("json", "panel"),
    ("json", "target"),
    ("json", "prometheus"),
    *_BLOCKS_WITHOUT_REQUEST,
    *_RESPONSES,
}
_ENTITY_TEXTS = {"NaN": "NaN", "Inf": "Inf", "NegInf": "-Inf"}


class Block(NamedTuple):
    """A fenced block of a page. Its position is the name of the page and a line number."""

    position: str
    language: str
    label: str
    text: str


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    page = path.read_text()
    for match in _FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        yield Block(f"{path.stem}:{line}", match[1], match[2] or "", match[3])


BLOCKS = [block for path in PAGES for block in blocks_of(path)]
# Each request with the block after it.
EXAMPLES = [(block, response) for block, response in zip(BLOCKS, [*BLOCKS[1:], None], strict=True) if block.label in _ENDPOINTS]


def blocks_with(language: str, label: str) -> list[Block]:
    """Return the blocks of all pages with a language and label."""
    return [block for block in BLOCKS if (block.language, block.label) == (language, label)]


def block_parameters(language: str, label: str) -> list[Any]:
    """Return the blocks of all pages with a language and label as parameters of a test, with their positions as ids."""
    return [pytest.param(block, id=block.position) for block in blocks_with(language, label)]


@pytest.fixture(scope="module")
def settings() -> Iterator[QuerySettings]:
    """Return settings with SQL enabled."""
    settings_with_sql = QuerySettings(sql=SqlEngine(Limits(), slots=1))
    yield settings_with_sql
    assert settings_with_sql.sql
    settings_with_sql.sql.stop()


async def response_of(request: Block, settings: QuerySettings, *, explain: bool = False) -> tuple[int, Any]:
    """Return the status and body of the response to a request on a page."""
    response = await respond(request.text.encode(), QueryContext(_ENDPOINTS[request.label], explain=explain), settings)
    pieces = [response.body] if isinstance(response.body, bytes) else [piece async for piece in response.body]
    return int(response.headers["status"]), json.loads(b"".join(pieces))


def response_text(status: int, body: Any) -> str:
    """Return the response in the notation of the reference pages."""
    return "\n".join([f"HTTP {status}", *(line for ref_id, result in body["results"].items() for line in _lines(ref_id, result))])


def _lines(ref_id: str, result: Any) -> Iterator[str]:
    """Yield the lines of a result: its error, frames, matches and notices. A frame that is named by its refId is a table."""
    if "error" in result:
        yield f"{ref_id} error {result['error']}"
    elif not result["frames"]:
        yield f"{ref_id} no frames"
    for frame in result["frames"]:
        yield from _table_lines(frame) if frame["schema"].get("name") == ref_id else [f"{ref_id} {_item_text(frame)}"]
        meta = frame["schema"].get("meta", {})
        custom = meta.get("custom")
        for match in custom if isinstance(custom, list) else ():
            yield " ".join([f"{ref_id} match", match["value"] or "null", match["metric"], _labels_text(match["labels"])])
        for notice in meta.get("notices", []):
            yield f"{ref_id} {notice['severity']} {notice['text']}"


def _table_lines(frame: Any) -> Iterator[str]:
    """Yield a line with the names of the columns, and a line for each row."""
    schema = frame["schema"]
    yield f"{schema['refId']} table {' | '.join(field['name'] for field in schema['fields'])}"
    for row in zip(*frame["data"]["values"], strict=True):
        yield f"{schema['refId']} {' | '.join('null' if cell is None else str(cell).removesuffix('.0') for cell in row)}"


def _item_text(frame: Any) -> str:
    """Return the type, labels and values of a series or number."""
    fields = frame["schema"]["fields"]
    if not fields:
        return "no data"
    type_ = "series" if fields[0]["type"] == "time" else "number"
    return " ".join([type_, _labels_text(fields[-1].get("labels")), *_point_texts(frame["data"])])


def _labels_text(labels: Any) -> str:
    """Return labels in braces: ``{host=a}``."""
    return "{" + ", ".join(f"{key}={value}" for key, value in (labels or {}).items()) + "}"


def _point_texts(data: Any) -> list[str]:
    """Return the text of each value of the last column."""
    texts = ["null" if value is None else f"{value:.12g}" for value in data["values"][-1]]
    entities_of_columns = data.get("entities") or [None]
    for name, rows in (entities_of_columns[-1] or {}).items():
        for row in rows:
            texts[row] = _ENTITY_TEXTS[name]
    return texts


def without_times(explanation: Any) -> Any:
    """Return an explanation without the durations of its nodes, which differ in each run."""
    for node in explanation["nodes"].values():
        del node["milliseconds"]
    return explanation


def collapse_spaces(text: str) -> list[str]:
    """Return the lines with single spaces, because pages may align columns with several."""
    return [" ".join(line.split()) for line in text.splitlines()]


def first_column(name: str) -> list[str]:
    """Return the names in the first column of a table between markers."""
    _, _, after_heading = PAGE.read_text().partition(f"<!-- {name} -->\n")
    table, _, _ = after_heading.partition("<!-- end -->")
    return [name for row in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def test_the_page_is_current() -> None:
    """``make docs``, which calls ``page_with_tables``, does not change the page, and restores tables that were changed by hand."""
    text = PAGE.read_text()
    assert page_with_tables(text) == text
    assert page_with_tables(text.replace("| `abs(x)` |", "| `abs(y)` |")) == text
    assert page_with_tables(text.replace("| `**` | 6 |", "| `**` | 7 |")) == text


def test_every_function_and_limit_is_on_the_page() -> None:
    """Each function has a row on the page of expressions, and each limit is on the page of queries."""
    assert all(f"| `{name}(" in PAGE.read_text() for name in FUNCTIONS)
    limits = (FOLDER / "queries.md").read_text()
    assert all(f"`{name.upper()}`" in limits for name in Limits.__dataclass_fields__ if name not in {"deadline", "memory"})


def test_links_between_the_pages_are_valid() -> None:
    """Each link leads to an existing page and heading."""
    links = [(page, *link) for page in PAGES for link in _LINK.findall(page.read_text())]
    assert len(links) > len(PAGES)
    for page, name, anchor in links:
        target = FOLDER / name if name else page
        assert target.exists(), (page.name, name)
        headings = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in _HEADING.findall(target.read_text())]
        assert not anchor or anchor in headings, (page.name, name, anchor)


@pytest.mark.parametrize("type_", TARGETS)
def test_every_property_of_a_type_is_in_its_table(type_: str) -> None:
    """The table of a type has the properties that not all types have. Another table has the properties of all types."""
    fields = [field.alias for field in TARGETS[type_].model_fields.values()]
    assert sorted(first_column(f"properties of {type_}")) == sorted(VARIANT_PROPERTIES.intersection(map(str, fields)))
    assert set(first_column("properties of all")) == set(map(str, fields)) - VARIANT_PROPERTIES


def test_the_tables_of_names_are_complete() -> None:
    """The tables list all evaluators, reducers of classic conditions and upsamplers."""
    assert first_column("evaluators") == [*BOUND_COUNTS]
    assert first_column("classic reducers") == [*classic_reducers.NAMES]
    assert first_column("upsamplers") == [*UPSAMPLERS]


def test_every_block_has_a_known_label() -> None:
    """Every block has a known language and label, and every request is followed by its response."""
    assert {(block.language, block.label) for block in BLOCKS} <= _KNOWN_BLOCKS
    assert all(response and (response.language, response.label) in _RESPONSES for _, response in EXAMPLES)
    responses = [block for block in BLOCKS if (block.language, block.label) in _RESPONSES]
    assert len(responses) == len(EXAMPLES)
    # A pattern that does not match the pages would find none.
    assert len(EXAMPLES) > 5


@pytest.mark.parametrize(("request_block", "expected"), [pytest.param(*example, id=example[0].position) for example in EXAMPLES])
async def test_a_request_has_the_response_on_the_page(request_block: Block, expected: Block, settings: QuerySettings) -> None:
    """The response to a request has the status, frames, labels, values, notices and errors of the block after the request."""
    status, body = await response_of(request_block, settings, explain=expected.label == "explain")
    if expected.label == "explain":
        assert without_times(body["meta"]["explain"]) == without_times(json.loads(expected.text))
    elif expected.language == "json":
        assert body == json.loads(expected.text)
    else:
        assert collapse_spaces(response_text(status, body)) == collapse_spaces(expected.text)


@pytest.mark.parametrize(
    ("block", "requests_block"), list(zip(blocks_with("json", "prometheus"), blocks_with("text", "sent"), strict=True))
)
async def test_prometheus_receives_the_request_on_the_page(block: Block, requests_block: Block) -> None:
    """Requests to Prometheus have the method, path and parameters on the page, for a data source that is scraped every 30 s."""
    server, http = FakeServer(respond_with(success("vector", []))), loopback_client()
    async with server.server:
        record = source_record(server.url, json_data={"timeInterval": "30s"})
        sources = SourceRegistry({"prometheus": partial(Prometheus, http=http)}, MemoryRecords([record]))
        response = await respond(block.text.encode(), QueryContext(org_id=1), QuerySettings(sources=sources))
        await http.close()
    assert response.headers["status"] == 200
    requests = [
        f"{request.method} {request.path} {' '.join(f'{key}={value}' for key, value in request.parameters.items())}"
        for request in server.requests
    ]
    assert sorted(requests) == sorted(requests_block.text.splitlines())


@pytest.mark.parametrize("block", block_parameters("json", "target"))
def test_a_target_is_accepted_by_the_strict_endpoints(block: Block) -> None:
    """Each target on the page is valid in its strict form."""
    target = json.loads(block.text)
    TARGETS[target["type"]].model_validate(target)


@pytest.mark.parametrize("block", block_parameters("text", "spec"))
def test_a_short_example_is_correct(block: Block, tmp_path: Path) -> None:
    """Each short example is a valid case of ``tests/specs`` with the result on the page."""
    path = tmp_path / "page.test"
    path.write_text(f"case {block.position}\n{block.text}")
    evaluations = list(read_file(path))
    assert evaluations
    for evaluation in evaluations:
        check_case(evaluation)


@pytest.mark.parametrize("block", block_parameters("python", ""))
def test_the_code_on_the_page_runs(block: Block) -> None:
    """Python code on the page has assertions, and runs."""
    assert "assert " in block.text
    exec(compile(block.text, block.position, "exec"), {})
