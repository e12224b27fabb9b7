"""Routes below one repository whose answers the jobs worker gives: it alone reads folders and talks to git hosts."""

from typing import Final

from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.resources import described, formats
from dashwright.api.resources.configurations import Configurations
from dashwright.common.errors import Invalid
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.repository_calls import TrialAnswer, TrialRequest
from dashwright.common.models.repository_views import ErrorDetails, TestResults

_SECONDS: Final = 33.0
"""How long the worker may take: the git host has 30 of them to answer it."""

_FAILED: Final = Content({"anyOf": [{"$ref": "#/components/schemas/TestResults"}, {"$ref": "#/components/schemas/Status"}]})


def routes(configurations: Configurations, broker: Broker, rpc: RpcClient) -> list[Route]:
    queue = broker.topology.repositories
    repository = f"/apis/{REPOSITORY.api_version()}/namespaces/{{namespace}}/{REPOSITORY.plural}/{{name}}"

    async def test(call: Call) -> Answer:
        namespace, name = call.parameters["namespace"], call.parameters["name"]
        try:
            spec = await _configuration(configurations, call, namespace, name)
        except Invalid as error:
            causes = [ErrorDetails(type=cause.reason, field=cause.field, detail=cause.message) for cause in error.causes]
            return _results(error.status, causes or [ErrorDetails(type="FieldValueInvalid", detail=error.message)])
        reply = await rpc.call(queue, TrialRequest(namespace=namespace, name=name, spec=spec).to_json(), timeout=_SECONDS)
        tested = TrialAnswer.model_validate_json(await reply.read())
        if tested.message is None:
            return _results(200, [])
        return _results(400, [ErrorDetails(type="FieldValueInvalid", field=tested.field, detail=tested.message)])

    return [Route("POST", f"{repository}/test", test, Permission("repositories:write"), _TEST)]


_TEST: Final = Operation(
    "testRepository",
    "whether a repository can be read",
    REPOSITORY.group,
    described.sent(REPOSITORY),
    {200: TestResults, 400: _FAILED, 422: _FAILED},
    errors=(404,),
    description="Without a body, or with {}, the stored configuration is tried, else the one that is sent, which is not saved. "
    "The name new stands for a repository that is not stored.",
)


async def _configuration(configurations: Configurations, call: Call, namespace: str, name: str) -> RepositorySpec:
    tree = await formats.read_body(call) if (await call.body()).strip() else {}
    if tree == {}:
        return await configurations.stored(namespace, name)
    return await configurations.of(tree, namespace, name, REPOSITORY.version)


def _results(code: int, errors: list[ErrorDetails]) -> Answer:
    results = TestResults(kind="TestResults", api_version=REPOSITORY.api_version(), code=code, success=not errors, errors=errors)
    return json_answer(results, code)
