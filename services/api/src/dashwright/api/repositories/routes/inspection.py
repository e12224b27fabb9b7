"""Routes that test a repository's configuration, and list its branches and commits. The jobs worker does the work."""

from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.repositories.configurations import Configurations
from dashwright.api.repositories.routes.place import ONE
from dashwright.api.resources import descriptions, formats, options
from dashwright.api.workers.repository_client import RepositoryClient, deadline_after
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.media import JSON, YAML
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType
from dashwright.common.models.repository_calls import HistoryRequest, RefsRequest, TrialRequest, TrialResponse
from dashwright.common.models.repository_views import ErrorDetails, HistoryList, RefList, TestResults

_FAILED: Final = Content({"anyOf": [{"$ref": "#/components/schemas/TestResults"}, {"$ref": "#/components/schemas/Status"}]})


def routes(configurations: Configurations, worker: RepositoryClient, probe: RepositoryHealthClient) -> list[Route]:
    """Return the routes."""

    async def test(call: Call) -> Response:
        options.is_dry_run(call)  # Raises BadRequest for an invalid value.
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        try:
            spec = await _configuration(configurations, call, namespace, name)
        except Invalid as error:
            causes = [ErrorDetails(type=cause.reason, field=cause.field, detail=cause.message) for cause in error.causes]
            return _results(error.status, causes or [ErrorDetails(type="FieldValueInvalid", detail=error.message)])
        body = await worker.call(TrialRequest(namespace=namespace, name=name, spec=spec), deadline=deadline_after())
        outcome = TrialResponse.model_validate_json(body)
        if outcome.message is None:
            return _results(200, [])
        return _results(400, [ErrorDetails(type="FieldValueInvalid", field=outcome.field, detail=outcome.message)])

    async def refs(call: Call) -> Response:
        return await ask_worker(RefsRequest(namespace=call.parameters["namespace"], name=call.parameters["name"]))

    async def history(call: Call) -> Response:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        path, ref = call.parameters.get("path", ""), call.query.get("ref", "")
        return await ask_worker(HistoryRequest(namespace=namespace, name=name, path=path, ref=ref))

    async def ask_worker(request: RefsRequest | HistoryRequest) -> Response:
        stored = await configurations.get(request.namespace, request.name)
        if RepositorySpec.model_validate_json(stored.spec).type is RepositoryType.LOCAL:
            raise BadRequest(f"this repository does not support {request.call}")
        await probe.require_healthy(request.namespace, [stored])
        return Response(200, await worker.call(request, deadline=deadline_after()), may_compress=True)

    read, write = Permission("repositories:read"), Permission("repositories:write")
    return [
        Route("POST", f"{ONE}/test", test, write, _TEST),
        Route("GET", f"{ONE}/refs", refs, read, _REFS),
        Route("GET", f"{ONE}/history", history, write, _history("getRepositoryHistory", "the newest commits")),
        Route("GET", f"{ONE}/history/{{path:rest}}", history, write, _history("getFileHistory", "the newest commits that touch a path")),
    ]


_REFS: Final = Operation(
    "listRepositoryRefs", "the branches of the repository", REPOSITORY.group, responses={200: RefList}, errors=(404, 424)
)


def _history(identifier: str, summary: str) -> Operation:
    query = {"ref": "a branch, or the full hash of a commit on the repository's branch; the default is the repository's branch"}
    return Operation(identifier, summary, REPOSITORY.group, responses={200: HistoryList}, query=query, errors=(404, 424))


_TEST: Final = Operation(
    "testRepository",
    "test a repository",
    REPOSITORY.group,
    Content(descriptions.object_model(REPOSITORY), (JSON, YAML), optional=True),
    {200: TestResults, 400: _FAILED, 422: _FAILED},
    query={"dryRun": "`All` is accepted and has no effect, because a test never stores anything"},
    parameters=descriptions.parameter_types(descriptions.DRY_RUN),
    errors=(404,),
    description="Tests the configuration in the body without saving it, or the stored one if the body is missing or `{}`. "
    "Use the name `new` for a repository that is not stored.",
)


async def _configuration(configurations: Configurations, call: Call, namespace: str, name: str) -> RepositorySpec:
    document = await formats.read_body(call) if (await call.body()).strip() else {}
    if document == {}:
        return RepositorySpec.model_validate_json((await configurations.get(namespace, name)).spec)
    return await configurations.of(document, namespace, name, REPOSITORY.version)


def _results(code: int, errors: list[ErrorDetails]) -> Response:
    results = TestResults(kind="TestResults", api_version=REPOSITORY.api_version(), code=code, success=not errors, errors=errors)
    return json_response(results, code)
