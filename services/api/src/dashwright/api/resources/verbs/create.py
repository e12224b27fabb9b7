"""Create: a new object, with its name or one made from ``generateName``."""

from functools import partial

from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.denial import denied
from dashwright.api.http.routing import Operation
from dashwright.api.resources import answers, described, jobs, objects, options
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.api.resources.unknown import Validation
from dashwright.api.resources.writing.wanted import Wanted
from dashwright.api.resources.writing.writer import aside
from dashwright.common.kinds import kind as kinds


def operation(target: Target) -> Operation:
    kind = target.kind
    return described.operation(
        "create",
        target,
        query=described.WRITING,
        request=described.sent(kind),
        answers={_status(target): described.shown(kind)},
        errors=(404, 409, 422, 424),
    )


async def handle(target: Target, services: Services, call: Call) -> Answer:
    kind, namespace = target.kind, call.parameters["namespace"]
    if not all(call.evaluated.may(action, scope) for action, scope in kind.create_needs):
        raise denied(*[action for action, _ in kind.creating])
    by, validation, body = options.writer_of(call), options.validation_of(call), await call.body()
    if kind.shelf is kinds.Shelf.JOBS:
        job = await jobs.create(services.jobs, kind, namespace, body, call.actor, dry_run=by.dry_run)
        return Answer(_status(target), job.encode())
    wanted = await aside(len(body), partial(_read, body, target, namespace, validation))
    stored = await services.writer.create(wanted, by, size=len(body))
    return answers.one(target, stored, status=_status(target), warnings=wanted.warnings)


def _read(body: bytes, target: Target, namespace: str, validation: Validation) -> Wanted:
    return objects.read_new(objects.read_tree(body), target.kind, namespace, target.version, validation)


def _status(target: Target) -> int:
    """A job is accepted, not made: what it asks for comes later."""
    return 202 if target.kind.shelf is kinds.Shelf.JOBS else 201
