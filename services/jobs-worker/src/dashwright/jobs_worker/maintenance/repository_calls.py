"""Answers what the gateway asks of repositories, while somebody waits for it."""

from pydantic import ValidationError

from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, SourceFailed
from dashwright.common.messaging.rpc import Reply, Request
from dashwright.common.models.provisioning import RepositoryType
from dashwright.common.models.repository_calls import TrialAnswer, TrialRequest
from dashwright.common.secrets import SecretUnreadable
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.maintenance.prober import Look


class RepositoryCalls:
    def __init__(self, look: Look) -> None:
        self._look = look

    async def answer(self, request: Request) -> Reply:
        """The RPC: a TrialRequest in, a TrialAnswer out."""
        try:
            call = TrialRequest.model_validate_json(request.body)
        except ValidationError as error:
            raise BadRequest("the request is none that is answered about repositories") from error
        return Reply(body=(await self._test(call)).to_json())

    async def _test(self, call: TrialRequest) -> TrialAnswer:
        """Nothing is kept, neither what is tested nor what was seen."""
        repository = Repository(call.namespace, call.name, "", 0, call.spec)
        try:
            await self._look(repository)
        except DashwrightError as error:
            if error.status >= 500 and not isinstance(error, SourceFailed | SecretUnreadable):
                raise
            return TrialAnswer(field=_field(repository, error), message=error.message)
        return TrialAnswer()


def _field(repository: Repository, error: DashwrightError) -> str:
    """What has to be changed for a repository to be readable, by the kind of its refusal."""
    if error.causes:
        return error.causes[0].field
    if repository.spec.type is RepositoryType.LOCAL:
        return "spec.local.path"
    return "spec.githost.token" if isinstance(error, Forbidden | SecretUnreadable) else "spec.githost.url"
