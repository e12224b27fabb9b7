"""Examples of the documentation page on the resource API: each request is sent, and its response is compared with the page."""

import json
import re
from pathlib import Path
from typing import Any

from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.kinds.registry import KINDS
from dashwright.common.yaml import read_yaml

PAGE = Path(__file__).parents[3] / "docs/reference/resource-api.md"
CODE_BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Return the requests on the page and their responses, which alternate there."""
    blocks = [(label, text) for language, label, text in CODE_BLOCK.findall(PAGE.read_text()) if language == "http"]
    requests, responses = blocks[::2], blocks[1::2]
    assert {label for label, _ in requests} == {"request"}
    assert {label for label, _ in responses} == {"answer"}
    return [(request, response) for (_, request), (_, response) in zip(requests, responses, strict=True)]


def differences(on_page: Any, actual: Any, path: str = "") -> list[str]:
    """Return the differences between a response and the one on the page, where ``…`` means any value."""
    if on_page == "…":
        return [] if actual is not None else [f"{path} is missing"]
    if isinstance(on_page, dict) and isinstance(actual, dict):
        return [fault for key, value in on_page.items() for fault in differences(value, actual.get(key), f"{path}.{key}")]
    if isinstance(on_page, list) and isinstance(actual, list) and len(on_page) == len(actual):
        return [
            fault
            for index, (part_on_page, actual_part) in enumerate(zip(on_page, actual, strict=True))
            for fault in differences(part_on_page, actual_part, f"{path}[{index}]")
        ]
    return [] if on_page == actual else [f"{path} is {actual!r}, not {on_page!r}"]


async def test_every_example_has_the_response_on_the_page(api: Api) -> None:
    """The requests of the page run in order on a new database, as the first user, and get the responses of the page."""
    faults = []
    page_examples = examples()
    assert len(page_examples) >= 10
    for request, response in page_examples:
        head, _, body = request.partition("\n\n")
        line, *header_lines = head.strip().splitlines()
        method, address = line.split(" ", 1)
        request_headers = {"Authorization": ADMIN, **dict(header.split(": ", 1) for header in header_lines)}
        async with api.session.request(method, address, headers=request_headers, data=body.encode() or None) as result:
            text = await result.text()
            actual = read_yaml(text) if result.content_type == "application/yaml" else json.loads(text)
            if request_headers.get("Accept") == "application/yaml":
                assert result.content_type == "application/yaml"
        status, _, expected = response.partition("\n\n")
        if result.status != int(status):
            faults.append(f"{line}: {result.status} {text[:300]}")
        else:
            faults += [f"{line}: {fault}" for fault in differences(json.loads(expected), actual)]
    assert not faults, "\n".join(faults)


def test_every_kind_is_on_the_page() -> None:
    """The page has each kind with its group, plural, short names and subresources."""
    rows = {row[0]: row for row in re.findall(r"^\| (\w+) \| `([\w.]+)` \| `(\w+)` \|([^|]*)\|([^|]*)\|", PAGE.read_text(), re.MULTILINE)}
    assert set(rows) == {kind.kind for kind in KINDS}
    for kind in KINDS:
        _, group, plural, short, subresources = rows[kind.kind]
        assert (group, plural) == (kind.group, kind.plural)
        assert tuple(re.findall(r"`(\w+)`", short)) == kind.short_names
        expected_subresources = ({"status"} if kind.status is not None else set()) | {sub.name for sub in kind.subresources}
        assert expected_subresources <= set(re.findall(r"`(\w+)`", subresources))
