"""The page on the resource API is true: each of its requests is sent, in order, and its response compared.

An ``http request`` block is the request line, headers, an empty line and the body. Its ``http answer`` is the status, an empty
line and JSON that the response contains at least; YAML is compared as data. ``…`` matches anything.
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.kinds.registry import KINDS
from dashwright.common.yaml import read_yaml

PAGE = Path(__file__).parents[3] / "docs/reference/resource-api.md"
FENCE = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Return requests and their responses."""
    blocks = [(mark, text) for language, mark, text in FENCE.findall(PAGE.read_text()) if language == "http"]
    requests, answers = blocks[::2], blocks[1::2]
    assert {mark for mark, _ in requests} == {"request"}
    assert {mark for mark, _ in answers} == {"answer"}
    return [(request, answer) for (_, request), (_, answer) in zip(requests, answers, strict=True)]


def misses(shown: Any, found: Any, place: str = "") -> list[str]:
    """Yield where a response does not contain what the page shows."""
    if shown == "…":
        return [] if found is not None else [f"{place} is missing"]
    if isinstance(shown, dict) and isinstance(found, dict):
        return [fault for key, value in shown.items() for fault in misses(value, found.get(key), f"{place}.{key}")]
    if isinstance(shown, list) and isinstance(found, list) and len(shown) == len(found):
        return [
            fault for index, (one, other) in enumerate(zip(shown, found, strict=True)) for fault in misses(one, other, f"{place}[{index}]")
        ]
    return [] if shown == found else [f"{place} is {found!r}, not {shown!r}"]


async def test_every_example_is_true(api: Api) -> None:
    """The requests run in order on a new database, as the first user."""
    faults = []
    shown = examples()
    assert len(shown) >= 10
    for request, answer in shown:
        head, _, body = request.partition("\n\n")
        line, *headers = head.strip().splitlines()
        method, address = line.split(" ", 1)
        sent = {"Authorization": ADMIN, **dict(header.split(": ", 1) for header in headers)}
        async with api.session.request(method, address, headers=sent, data=body.encode() or None) as got:
            text = await got.text()
            found = read_yaml(text) if got.content_type == "application/yaml" else json.loads(text)
            assert got.content_type == "application/yaml" or sent.get("Accept") != "application/yaml"
        status, _, expected = answer.partition("\n\n")
        if got.status != int(status):
            faults.append(f"{line}: {got.status} {text[:300]}")
        else:
            faults += [f"{line}: {fault}" for fault in misses(json.loads(expected), found)]
    assert not faults, "\n".join(faults)


def test_every_kind_is_on_the_page() -> None:
    """With its group, plural, short names and what is served below it."""
    rows = {row[0]: row for row in re.findall(r"^\| (\w+) \| `([\w.]+)` \| `(\w+)` \|([^|]*)\|([^|]*)\|", PAGE.read_text(), re.MULTILINE)}
    assert set(rows) == {kind.kind for kind in KINDS}
    for kind in KINDS:
        _, group, plural, short, below = rows[kind.kind]
        assert (group, plural) == (kind.group, kind.plural)
        assert tuple(re.findall(r"`(\w+)`", short)) == kind.short_names
        served = ({"status"} if kind.status is not None else set()) | {sub.name for sub in kind.subresources}
        assert served <= set(re.findall(r"`(\w+)`", below))
