"""The endpoint that git hosts call after a push or a change of a pull request."""

from collections.abc import Mapping, Sequence
from typing import Final

from dashwright.api.http.addresses import client_network
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, Operation, Route
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.repositories.webhooks import MAX_PAYLOAD_BYTES, Delivery, Webhooks
from dashwright.api.resources import descriptions, options
from dashwright.api.stores.audit import event_of
from dashwright.common.database.pool import set_connection_holder
from dashwright.common.errors import Unauthorized
from dashwright.common.git_hosts.registry import host_of_delivery
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.repository_views import WebhookResponse


def routes(webhooks: Webhooks) -> list[Route]:
    """Return the route. It needs no credentials: deliveries are signed."""

    async def receive_delivery(call: Call) -> Response:
        """Submit the job of a delivery, and respond with the decision on the delivery."""
        dry_run = options.is_dry_run(call)
        headers = call.headers
        # Each delivery, even a forged one, reads the repository before its signature can be verified. The connections that one network
        # holds are limited, so that such deliveries do not delay other requests.
        set_connection_holder(client_network(call.address))
        deliveries = host_of_delivery(headers).deliveries
        proof = _first_value(headers, deliveries.proof_headers)
        if proof is None:
            raise Unauthorized("missing signature")
        target = await webhooks.find_target(call.parameters["namespace"], call.parameters["name"])
        media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        event, delivery_id = _first_value(headers, deliveries.event_headers) or "", _first_value(headers, deliveries.id_headers) or ""
        delivery = Delivery(deliveries, event, delivery_id, proof, media_type, call.address, call.chunks())
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


def _first_value(headers: Mapping[str, str], names: Sequence[str]) -> str | None:
    """Return the value of the first of these headers that is present, or None."""
    return next((headers[name] for name in names if name in headers), None)


_WEBHOOK_OPERATION: Final = Operation(
    "callRepositoryWebhook",
    "receive the delivery of a git host after a push or a change of a pull request",
    REPOSITORY.group,
    responses={200: WebhookResponse, 202: WebhookResponse, 501: WebhookResponse},
    query=descriptions.DRY_RUN_PARAMETER,
    parameters=descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER),
    errors=(401, 409, 413, 422, 424),
    description="The request is signed with the secret that the webhook shares with the git host, in a header: "
    "X-Hub-Signature-256, X-Gitea-Signature, X-Forgejo-Signature, X-Hub-Signature or X-Gitlab-Token. JSON, or a form with a JSON payload. "
    "A delivery only queues a job: sync after a push to the repository's branch, pr after a pull request against it was opened or changed.",
)
