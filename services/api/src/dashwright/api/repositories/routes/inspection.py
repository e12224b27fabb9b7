"""Routes that test a repository's configuration, and list its branches and commits. All of them call the jobs worker."""

from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.repositories.configuration_reader import ConfigurationReader
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.repositories.routes.versions import version_of
from dashwright.api.resources import descriptions, formats, options
from dashwright.api.workers.repository_client import RepositoryClient, deadline_after
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.media import JSON, YAML
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType
from dashwright.common.models.repository_calls import HistoryRequest, RefsRequest, TrialRequest, TrialResponse
from dashwright.common.models.repository_views import ErrorDetails, HistoryList, RefList, TestResults

#: The results of a failed test, or the status of an invalid request.
_FAILED_TEST_CONTENT: Final = Content({"anyOf": [{"$ref": "#/components/schemas/TestResults"}, {"$ref": "#/components/schemas/Status"}]})


def routes(
    configuration_reader: ConfigurationReader, repository_client: RepositoryClient, health_client: RepositoryHealthClient
) -> list[Route]:
    """Return the routes."""

    async def test_configuration(call: Call) -> Response:
        """Respond with the faults of a configuration: of its values, or if they are valid, of the access to the repository."""
        options.is_dry_run(call)  # Raises BadRequest for an invalid value.
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        try:
            spec = await _read_spec(configuration_reader, call, namespace, name)
        except Invalid as error:
            causes = [ErrorDetails(type=cause.reason, field=cause.field, detail=cause.message) for cause in error.causes]
            return _results_response(error.status, causes or [ErrorDetails(type="FieldValueInvalid", detail=error.message)])
        body = await repository_client.call(TrialRequest(namespace=namespace, name=name, spec=spec), deadline=deadline_after())
        trial = TrialResponse.model_validate_json(body)
        if trial.message is None:
            return _results_response(200, [])
        return _results_response(400, [ErrorDetails(type="FieldValueInvalid", field=trial.field, detail=trial.message)])

    async def list_refs(call: Call) -> Response:
        return await call_worker(RefsRequest(namespace=call.parameters["namespace"], name=call.parameters["name"]))

    async def list_history(call: Call) -> Response:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        path, ref = call.parameters.get("path", ""), call.query.get("ref", "")
        return await call_worker(HistoryRequest(namespace=namespace, name=name, path=path, ref=ref))

    async def call_worker(request: RefsRequest | HistoryRequest) -> Response:
        repository = await configuration_reader.get(request.namespace, request.name)
        if RepositorySpec.model_validate_json(repository.spec).type is RepositoryType.LOCAL:
            raise BadRequest(f"this repository does not support {request.call}: a local directory has neither branches nor commits")
        await health_client.require_healthy(request.namespace, [repository])
        return Response(200, await repository_client.call(request, deadline=deadline_after()), may_compress=True)

    read, write = Permission("repositories:read"), Permission("repositories:write")
    return [
        Route("POST", f"{REPOSITORY_PATH}/test", test_configuration, write, _TEST_OPERATION),
        Route("GET", f"{REPOSITORY_PATH}/refs", list_refs, read, _REFS_OPERATION),
        Route("GET", f"{REPOSITORY_PATH}/history", list_history, write, _history_operation("getRepositoryHistory", "the newest commits")),
        Route(
            "GET",
            f"{REPOSITORY_PATH}/history/{{path:rest}}",
            list_history,
            write,
            _history_operation("getFileHistory", "the newest commits that touch a path"),
        ),
    ]


_REFS_OPERATION: Final = Operation(
    "listRepositoryRefs", "the branches of the repository", REPOSITORY.group, responses={200: RefList}, errors=(404, 424)
)


def _history_operation(operation_id: str, summary: str) -> Operation:
    query = {"ref": "a branch, or the full hash of a commit on the repository's branch; the default is the repository's branch"}
    return Operation(operation_id, summary, REPOSITORY.group, responses={200: HistoryList}, query=query, errors=(404, 424))


_TEST_OPERATION: Final = Operation(
    "testRepository",
    "test a repository",
    REPOSITORY.group,
    Content(descriptions.object_model(REPOSITORY), (JSON, YAML), is_optional=True),
    {200: TestResults, 400: _FAILED_TEST_CONTENT, 422: _FAILED_TEST_CONTENT},
    query={"dryRun": "`All` is accepted and has no effect, because a test never stores anything"},
    parameters=descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER),
    errors=(404,),
    description="Tests the configuration in the body without saving it, or the stored one if the body is missing or `{}`. "
    "Use the name `new` for a repository that is not stored.",
)


async def _read_spec(configuration_reader: ConfigurationReader, call: Call, namespace: str, name: str) -> RepositorySpec:
    """Return the spec in the body, or the stored spec if the body is empty or ``{}``."""
    document = await formats.read_body(call) if (await call.body()).strip() else {}
    if document == {}:
        return RepositorySpec.model_validate_json((await configuration_reader.get(namespace, name)).spec)
    return await configuration_reader.read_spec(document, namespace, name, version_of(call))


def _results_response(code: int, errors: list[ErrorDetails]) -> Response:
    results = TestResults(kind="TestResults", api_version=REPOSITORY.api_version(), code=code, success=not errors, errors=errors)
    return json_response(results, code)
