"""Valid and invalid requests generated from ``/openapi.json``: each response is as the description declares.

The requests are the same in every run. ``DASHWRIGHT_TEST_EXAMPLES`` sets their number per operation.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import hypothesis
import orjson
import pytest
import pytest_asyncio
import requests
import schemathesis
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from tests.servers import databases

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

# The first test also waits for the generation of all requests, which takes minutes on a machine that is busy with other work.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(1800 if "DASHWRIGHT_TEST_EXAMPLES" in os.environ else 900)]

#: Valid requests, and invalid ones, that are drawn for each operation.
EXAMPLES: Final = int(os.environ.get("DASHWRIGHT_TEST_EXAMPLES", "2"))
CHECKS: Final = [content_type_conformance, response_schema_conformance, status_code_conformance]
#: The operation that may change the login of the caller, so that its requests are the last.
OWN_LOGIN: Final = "updateSignedInUser"
PASSWORD: Final = "pw-of-everybody"

# Grafana responds with 500 to these requests (unknown user, unknown type). Every other status of 500 or more is a defect, except 501:
# it is the described response of operations that this product does not have.
INTENDED_FAILURES: Final[Mapping[str, str]] = {
    "updateOrgUserForCurrentOrg": "Failed update org user",
    "updateOrgUser": "Failed update org user",
    "updateOrg": "Failed to update organization",
    "adminUpdateUserPassword": "Could not read user from database",
    "search": "Search failed: type must be dash-db or dash-folder",
    "searchByBody": "Search failed: type must be dash-db or dash-folder",
}


@schemathesis.serializer("application/x-ndjson")
def serialize_line(_context: Any, value: Any) -> bytes:
    """Return a body of one line."""
    return json.dumps(value).encode() + b"\n"


@dataclass(frozen=True)
class DescribedApi:
    """Address of a gateway, its generated requests, and credentials of two users that no generated request can change."""

    address: str
    cases: list[Case[Any]]
    credentials: Mapping[str, tuple[str, str]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def described_api(postgres_dsn: str, _template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DescribedApi]:
    """Start a gateway and an expressions worker for the module, and generate its requests."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(databases.temporary_database(postgres_dsn, _template))
        database = await Database.open(url, application_name="test", min_size=1, max_size=5)
        stack.push_async_callback(database.close)
        broker = MemoryBroker()
        await broker.start()
        stack.push_async_callback(broker.close)
        data = tmp_path_factory.mktemp("described")
        settings = load(http_port=0, data_dir=data, permitted_paths=str(data), login_attempts=100_000, secret_key="of tests only")
        worker = ExpressionsWorker(settings, database, broker, Clock())
        await worker.start()
        stack.push_async_callback(worker.stop)
        gateway = Gateway(settings, database, broker, Clock())
        stack.push_async_callback(gateway.stop)
        address = await gateway.start()
        hashed = await gateway.authentication.passwords.hash(PASSWORD)
        async with database.connection() as connection:
            # No generated request has these ids.
            for number, login, role, is_admin in ((7_000_000_001, "boss", "Admin", True), (7_000_000_002, "reader", "Viewer", False)):
                await connection.execute(
                    """insert into "user" (id, login, email, org_id, password, is_admin) values ($1, $2, $2, 1, $3, $4)""",
                    number,
                    login,
                    hashed,
                    is_admin,
                )
                await connection.execute("insert into org_user (org_id, user_id, role) values (1, $1, $2)", number, role)
        openapi = await asyncio.to_thread(lambda: requests.get(f"{address}/openapi.json", timeout=30).json())
        cases = await asyncio.to_thread(generate_cases, openapi)
        yield DescribedApi(address, cases, {"server admin": ("boss", PASSWORD), "Viewer": ("reader", PASSWORD)})


def generate_cases(openapi: Any) -> list[Case[Any]]:
    """Return valid and invalid requests of every operation. Path parameters often name objects that exist."""
    cases: list[Case[Any]] = []
    # The generator draws the same requests for operations with the same input, such as those of two versions of a kind.
    cases_by_input: dict[bytes, list[Case[Any]]] = {}
    for result in schemathesis.openapi.from_dict(openapi).get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        request = operation.definition.raw
        described_input = orjson.dumps([request.get("parameters"), request.get("requestBody")])
        if described_input not in cases_by_input:
            cases_by_input[described_input] = draw_cases(operation)
        cases += [case_of(operation, case) for case in cases_by_input[described_input]]
    for index, case in enumerate(cases):
        case.query.pop("watch", None)  # A watch would not end.
        # No object has a generated name. Four of five namespaces become the existing namespace, and every third case gets the id 1.
        for name in case.path_parameters:
            if name == "namespace" and index % 5 != 0:
                case.path_parameters[name] = "default"
            elif index % 3 == 0:
                case.path_parameters[name] = 1
    return sorted(cases, key=lambda case: identifier_of(case) == OWN_LOGIN)


def draw_cases(operation: Any) -> list[Case[Any]]:
    """Return valid and invalid requests of one operation."""
    cases: list[Case[Any]] = []
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @hypothesis.settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def collect(case: Case[Any]) -> None:
            cases.append(case)

        try:
            collect()
        except hypothesis.errors.Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # A request without input cannot have invalid input.
    return cases


def case_of(operation: Any, case: Case[Any]) -> Case[Any]:
    """Return a request to an operation with the parameters and the body of ``case``, which was drawn for another operation."""
    copied: Case[Any] = operation.Case(
        path_parameters=dict(case.path_parameters),
        headers=case.headers,
        cookies=dict(case.cookies),
        query=dict(case.query),
        body=case.body,
        media_type=case.media_type,
        multipart_content_types=case.multipart_content_types,
        _meta=case.meta,
    )
    return copied


def identifier_of(case: Case[Any]) -> str:
    """Return the ``operationId`` of a request."""
    return str(case.operation.definition.raw["operationId"])


def fault_of(case: Case[Any], actual: Response) -> str | None:
    """Return what is wrong with a response: an unexpected server error or a difference from the description."""
    identifier = identifier_of(case)
    is_failure = actual.status_code >= 500 and actual.status_code != 501
    if is_failure and (actual.status_code, actual.json().get("message")) != (500, INTENDED_FAILURES.get(identifier)):
        return f"{identifier}: {actual.status_code} {actual.text[:300]} after {case.as_curl_command()[:600]}"
    try:
        case.validate_response(actual, checks=CHECKS)
    except FailureGroup as group:
        return f"{identifier}: {actual.status_code} {'; '.join(map(str, group.exceptions))[:900]} after {case.as_curl_command()[:300]}"
    return None


@pytest.mark.parametrize(("caller", "min_success_count"), [("server admin", 50), ("Viewer", 20)])
async def test_every_response_is_as_described(described_api: DescribedApi, caller: str, min_success_count: int) -> None:
    """Every response has the status, content type and body that its operation declares, and many operations succeed.

    The change of the caller's own login is requested last.
    """

    def send() -> tuple[list[str], set[str]]:
        """Send all requests. Return the faults, and the operations of which a request succeeded."""
        faults, succeeded = [], set()
        with requests.Session() as session:
            session.auth = described_api.credentials[caller]
            for case in described_api.cases:
                if identifier_of(case) == OWN_LOGIN and OWN_LOGIN not in succeeded:
                    # No earlier request has changed the caller's own account, which would make later responses meaningless.
                    assert session.get(f"{described_api.address}/api/user", timeout=30).status_code == 200
                response = case.call(base_url=described_api.address, session=session, timeout=30)
                if (fault := fault_of(case, response)) is not None:
                    faults.append(fault)
                if response.status_code < 300:
                    succeeded.add(identifier_of(case))
        return faults, succeeded

    faults, succeeded = await asyncio.to_thread(send)
    assert not faults, "\n".join(faults)
    assert len(succeeded) >= min_success_count, sorted(succeeded)
