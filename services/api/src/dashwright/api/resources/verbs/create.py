"""Create: a new object, with its name or one made from ``generateName``."""

from dashwright.api.domain.access import EVALUATING
from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.denial import denied
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described, options
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.common.kinds import kind as kinds
from dashwright.common.kinds.registry import EVALUATION


def operation(target: Target) -> Operation:
    kind = target.kind
    return described.operation(
        "create",
        target,
        query=described.DRY_RUN,
        request=described.sent(kind),
        answers={_status(target): described.shown(kind)},
        errors=(404, 409, 422, 424),
    )


async def handle(target: Target, services: Services, call: Call) -> Answer:
    options.refuse_dry_run(call)
    if target.kind is EVALUATION and not all(call.evaluated.may(action, scope) for action, scope in EVALUATING):
        raise denied(*[action for action, _ in EVALUATING])
    body = await services.shelves[target.kind.shelf].create(
        target.kind, call.parameters["namespace"], target.version, await call.body(), call.actor
    )
    return Answer(_status(target), body)


def _status(target: Target) -> int:
    """A job is accepted, not made: what it asks for comes later."""
    return 202 if target.kind.shelf is kinds.Shelf.JOBS else 201
