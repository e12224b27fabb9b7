"""The OpenAPI description in use: its examples and a client generated from it succeed at a real gateway and worker."""

import asyncio
import importlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from tests.contract.api.conftest import ADMIN

from dashwright.api.main import Gateway
from dashwright.api.routes.examples import EXAMPLES
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

#: Models that the generated client must have.
NEEDED_MODELS: Final = {
    "Job", "JobList", "Repository", "RepositoryList", "Folder", "FolderList", "Evaluation", "EvaluationList", "CreateFolderCommand",
    "QueryRequest", "QueryResults",
}  # fmt: skip
#: Warnings about YAML and pictures, which the generator does not support. Any other warning is a fault of the description.
LIMITS_OF_THE_GENERATOR: Final = ("Unsupported content type", "Unsupported content_type")


@pytest.fixture
async def address(tmp_path: Path, database: Database) -> AsyncIterator[str]:
    """Start a gateway and an expressions worker, and yield the address of the gateway."""
    settings = load(http_port=0, data_dir=tmp_path, permitted_paths=str(tmp_path), secret_key="of tests only")
    broker = MemoryBroker()
    await broker.start()
    worker = ExpressionsWorker(settings, database, broker, Clock())
    await worker.start()
    gateway = Gateway(settings, database, broker, Clock())
    yield await gateway.start()
    await gateway.stop()
    await worker.stop()
    await broker.close()


async def test_every_example_succeeds(address: str) -> None:
    """The examples succeed in their order on an empty server."""
    async with aiohttp.ClientSession(address, headers={"Authorization": ADMIN}) as session:
        async with session.get("/openapi.json") as response:
            description = await response.json()
        operations = {
            operation["operationId"]: (method, path)
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
        }
        for operation_id, example in EXAMPLES.items():
            method, path = operations[operation_id]
            async with session.request(method, path.format(**example.path_parameters), json=example.request) as response:
                assert response.status < 300, (operation_id, await response.text())


async def test_a_generated_client_works(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generated client has all needed models, and its requests and responses fit the server."""
    async with aiohttp.ClientSession(address) as session, session.get("/openapi.json") as response:
        (tmp_path / "openapi.json").write_bytes(await response.read())
    (tmp_path / "config.yaml").write_text("post_hooks: []\n")
    output = await asyncio.to_thread(generate, tmp_path)
    faults = [text for text in output.split("WARNING")[1:] if not any(limit in text for limit in LIMITS_OF_THE_GENERATOR)]
    assert faults == []
    monkeypatch.syspath_prepend(str(tmp_path))
    models = importlib.import_module("generated.models")
    assert set(dir(models)) >= NEEDED_MODELS
    await asyncio.to_thread(use_generated_client, address)


def generate(folder: Path) -> str:
    """Run the generator and return its output."""
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--config", "config.yaml"]
    result = subprocess.run(
        [*command, "--meta", "none", "--output-path", "generated"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def use_generated_client(address: str) -> None:
    """Create a folder, list repositories, evaluate a query, and submit an evaluation."""
    models: Any = importlib.import_module("generated.models")
    generated_client = importlib.import_module("generated").Client(
        address, headers={"Authorization": ADMIN}, raise_on_unexpected_status=True
    )
    with generated_client as client:

        def call(module: str, *parameters: Any, **body: Any) -> Any:
            """Call an operation of the generated client and return the parsed response."""
            return importlib.import_module(f"generated.api.{module}").sync(*parameters, client=client, **body)

        folder = call("folders.create_folder", body=models.CreateFolderCommand(title="Shop", uid="shop"))
        assert (folder.uid, folder.title) == ("shop", "Shop")
        repositories = call("repositories_and_jobs.list_repository_v0_alpha_1", "default")
        assert (type(repositories).__name__, repositories.items) == ("RepositoryList", [])
        request = models.QueryRequest.from_dict(EXAMPLES["queryMetricsWithExpressions"].request)
        results = call("queries.query_metrics_with_expressions", body=request)
        assert results.results["B"].frames[0].data.values[1] == [20, 24]  # the values of the example's response
        evaluation = models.Evaluation.from_dict(EXAMPLES["createEvaluationV0alpha1"].request)
        submitted = call("evaluations_as_resources.create_evaluation_v0_alpha_1", "default", body=evaluation)
        assert submitted.spec.panel["type"] == "stat"
        listed = call("evaluations_as_resources.list_evaluation_v0_alpha_1", "default")
        assert [item.metadata.name for item in listed.items] == [submitted.metadata.name]
