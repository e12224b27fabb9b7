"""The endpoint that git hosts call after a push or a change of a pull request."""

from typing import Final

from dashwright.api.domain.events import event_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, Operation, Route
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.repositories.webhooks import MAX_PAYLOAD_BYTES, Delivery, Webhooks
from dashwright.api.resources import descriptions, options
from dashwright.common.errors import Unauthorized
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.repository_views import WebhookResponse

_SIGNATURE_HEADER: Final = "X-Hub-Signature-256"


def routes(webhooks: Webhooks) -> list[Route]:
    """Return the route. It needs no credentials: deliveries are signed."""

    async def receive_delivery(call: Call) -> Response:
        dry_run = options.is_dry_run(call)
        headers = call.headers
        if _SIGNATURE_HEADER not in headers:
            raise Unauthorized("missing signature")
        target = await webhooks.find_target(call.parameters["namespace"], call.parameters["name"])
        media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        event, delivery_id = headers.get("X-GitHub-Event", ""), headers.get("X-GitHub-Delivery", "")
        delivery = Delivery(event, delivery_id, headers[_SIGNATURE_HEADER], media_type, call.address, call.chunks())
        decision = await webhooks.accept(target, delivery, call.actor, dry_run=dry_run)
        response = WebhookResponse(api_version=REPOSITORY.api_version(), code=decision.code, message=decision.message, job=decision.job)
        return json_response(response, decision.code)

    return [
        Route(
            "POST",
            f"{REPOSITORY_PATH}/webhook",
            receive_delivery,
            PUBLIC,
            _WEBHOOK_OPERATION,
            body_limit=MAX_PAYLOAD_BYTES,
            audit=event_of(JOB, "create"),
        )
    ]


_WEBHOOK_OPERATION: Final = Operation(
    "callRepositoryWebhook",
    "receive the delivery of a git host after a push or a change of a pull request",
    REPOSITORY.group,
    responses={200: WebhookResponse, 202: WebhookResponse, 501: WebhookResponse},
    query=descriptions.DRY_RUN_PARAMETER,
    parameters=descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER),
    errors=(401, 409, 413, 422, 424),
    description="Signed by X-Hub-Signature-256 with the secret shared with the git host. JSON, or a form with a JSON payload. "
    "Only queues a job: sync after a push to the repository's branch, pr after a pull request against it was opened or changed.",
)
