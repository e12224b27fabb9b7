"""Delete: one object, where it is still what the caller takes it to be. One with finalizers is answered, and waits for them."""

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Operation
from dashwright.api.resources import descriptions, formats, jobs, options
from dashwright.api.resources.request import Target
from dashwright.api.resources.services import Services
from dashwright.common.kinds import kind as kinds


def operation(target: Target) -> Operation:
    return descriptions.operation(
        "delete",
        target,
        query=descriptions.DELETING,
        request=descriptions.DELETE_OPTIONS,
        responses={200: descriptions.STATUS},
        errors=(404, 406, 409, 413, 415),
    )


async def handle(target: Target, services: Services, call: Call) -> Response:
    kind, namespace, name = target.kind, call.parameters["namespace"], call.parameters["name"]
    form = formats.format_of(call)
    wanted = await options.delete_request_of(call)
    if kind.storage is kinds.Storage.JOBS:
        return _deleted_status(target, name, str(await jobs.delete(services.jobs, kind, namespace, name, wanted, call.actor)))
    context = options.write_context(call, dry_run=wanted.dry_run)
    deleted = await services.writer.delete(
        kind, namespace, name, context, preconditions=wanted.preconditions, cascade=wanted.cascade, grace=wanted.grace
    )
    return (
        _deleted_status(target, name, str(deleted.stored.uid))
        if deleted.is_gone
        else formats.one(form, kind, target.version, deleted.stored)
    )


def _deleted_status(target: Target, name: str, uid: str) -> Response:
    details = {"name": name, "group": target.kind.group, "kind": target.kind.plural, "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Response(200, orjson.dumps(status))
