"""``/asyncapi.json``, read by the parser of the AsyncAPI initiative."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from tests.oracles.queue import node_packages

from dashwright.api.repositories.queue_contract.document import document

pytestmark = pytest.mark.oracles

_FOLDER: Final = Path(__file__).parent
#: The code of the advice to use AsyncAPI 3.1. The document has version 3.0, which more tools read.
_NEWER_VERSION: Final = "asyncapi-latest-version"
#: The severity of errors in the parser's reports.
_ERROR: Final = 0


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder with the installed parser."""
    return node_packages.install_packages(_FOLDER)


def parse(packages: Path, folder: Path, description: Any) -> Any:
    """Return the operations of a document and the reports about it."""
    path = folder / "asyncapi.json"
    path.write_text(json.dumps(description))
    return json.loads(node_packages.run(packages, _FOLDER / "parse.mjs", str(path)))


def test_the_parser_accepts_the_document(packages: Path, tmp_path: Path) -> None:
    """The parser advises only to use a newer version of AsyncAPI, and reads each operation with its messages and replies."""
    diagnostics = parse(packages, tmp_path, document(version="1.0.0"))
    assert [report for report in diagnostics["reports"] if report["code"] != _NEWER_VERSION] == []
    assert {
        operation["id"]: (operation["action"], operation["messages"], operation["replies"]) for operation in diagnostics["operations"]
    } == {
        "submitJob": ("receive", ["JobSpec", "Job"], ["Job", "Status"]),
        "submitJobs": ("receive", ["JobSpecs"], ["JobList", "Status"]),
        "submitEvaluation": ("receive", ["Evaluation"], ["Evaluation", "Status"]),
        "submitBatch": ("receive", ["Batch"], ["Batch", "Status"]),
        "submitBatchItems": ("receive", ["BatchItem", "BatchItems"], ["BatchSubmission", "Status"]),
        "sendBatchItemResult": ("send", ["BatchItemResult"], []),
        "announceFinishedBatch": ("send", ["BatchFinished"], []),
        "announceFinishedBatchOnExchange": ("send", ["BatchFinished"], []),
        "announceRepositoryEvent": ("send", ["RepositoryEvent"], []),
        "keepRefusedSubmission": ("send", ["Refused submission"], []),
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("operations.submitJobs.messages.0.$ref", "#/components/messages/jobSpecs"),
        ("channels.submissions.bindings.amqp.queues", {}),
        ("components.schemas.SubmittedJobSpecs.maxItems", "1000"),
    ],
)
def test_the_parser_finds_faults(packages: Path, tmp_path: Path, path: str, value: Any) -> None:
    """A message of another channel, an unknown member of a binding and an invalid schema are errors."""
    # The test changes a copy.
    description = json.loads(json.dumps(document(version="1.0.0")))
    *parents, name = path.split(".")
    node = description
    for parent in parents:
        node = node[int(parent) if parent.isdigit() else parent]
    node[name] = value
    errors = [report for report in parse(packages, tmp_path, description)["reports"] if report["severity"] == _ERROR]
    assert errors
