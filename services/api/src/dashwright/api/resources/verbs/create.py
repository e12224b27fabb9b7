"""Create: a new object, with its name or one made from ``generateName``."""

from functools import partial

from dashwright.api.domain import submissions
from dashwright.api.http.call import Call
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, jobs, objects, options
from dashwright.api.resources.options import warning_headers
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.api.resources.threads import run_sized
from dashwright.common.kinds import kind as kinds


def operation(target: Target) -> Operation:
    kind = target.kind
    return descriptions.operation(
        "create",
        target,
        query=descriptions.WRITING,
        request=descriptions.object_content(kind),
        responses={_status(target): descriptions.object_content(kind)},
        errors=(404, 406, 409, 422, 424),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    kind, namespace, form = target.kind, call.parameters["namespace"], formats.format_of(call)
    require_creation(call, kind)
    context, validation = options.write_context(call), options.validation_of(call)
    if kind.storage is kinds.Storage.JOBS:
        submissions.check_size(await call.body())
        submission, warnings = jobs.read(await formats.read_body(call), kind, namespace, validation)
        job = await jobs.create(services.jobs, submission, namespace, call.actor, call.identity, dry_run=context.dry_run)
        return formats.one(form, kind, target.version, job, _status(target), warning_headers(warnings))
    tree, size = await formats.read_body(call), len(await call.body())
    wanted = await run_sized(size, partial(objects.read_new, tree, kind, namespace, target.version, validation))
    stored = await services.writer.create(wanted, context, size=size)
    return formats.one(form, kind, target.version, stored, _status(target), warning_headers(wanted.warnings))


def require_creation(call: Call, kind: kinds.Kind) -> None:
    """Raises Forbidden where the caller may not make objects of the kind anywhere."""
    if not all(call.evaluated.may(action, scope) for action, scope in kind.create_needs):
        raise permission_denied(*[action for action, _ in kind.creating])


def _status(target: Target) -> int:
    """A job is accepted, not made: what it asks for comes later."""
    return 202 if target.kind.storage is kinds.Storage.JOBS else 201
