"""Server-side apply, one of the kinds of patch: fields that become the caller's, of an object that is there or is made."""

from functools import partial
from typing import Final

from dashwright.api.domain.fields import ownership
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.resources import applying, formats, objects, options
from dashwright.api.resources.field_validation import warning_headers
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target
from dashwright.api.resources.threads import run_sized
from dashwright.api.resources.verbs import create
from dashwright.api.resources.writing import owners
from dashwright.api.resources.writing.desired_object import MODIFIED
from dashwright.common.errors import AlreadyExists, Conflict, NotFound
from dashwright.common.kinds.kind import Kind

_TRIES: Final = 5


async def handle(target: Target, services: Services, call: Call) -> Response:
    kind, version, namespace, name = target.kind, target.version, call.parameters["namespace"], call.parameters["name"]
    form, context, force, validation = (
        formats.format_of(call),
        options.apply_context(call),
        options.is_forced(call),
        options.validation_of(call),
    )
    tree, size = await formats.read_applied(call), len(await call.body())
    config = await run_sized(size, partial(objects.read_apply_configuration, tree, kind, namespace, version, name, validation))
    writer = ownership.FieldManager(context.manager, kind.api_version(version), owners.time_text(services.clock.now()))
    change = partial(applying.updated_object, config, version, writer, force)
    # Whoever finds no object may find one made meanwhile, and the other way round.
    for _ in range(_TRIES):
        try:
            changed = await services.writer.update(kind, namespace, name, change, context, preconditions=config.preconditions, size=size)
        except NotFound as missing:
            if not _is_about(missing, kind, name):
                raise
        else:
            return formats.one(form, kind, version, changed.stored, headers=warning_headers(changed.warnings))
        create.require_creation(call, kind)
        wanted = await run_sized(size, partial(applying.new_object, config, kind, namespace, version, name, writer))
        try:
            stored = await services.writer.create(wanted, context, size=size)
        except AlreadyExists:
            continue
        return formats.one(form, kind, version, stored, 201, warning_headers(wanted.warnings))
    raise Conflict(f'Operation cannot be fulfilled on {kind.key} "{name}": {MODIFIED}')


def _is_about(missing: NotFound, kind: Kind, name: str) -> bool:
    """Whether it is the object itself that is missing, and not the folder it is to lie in."""
    return missing.details == {"name": name, "group": kind.group, "kind": kind.plural}
