"""Receivers of notifications: their admission, and the secrets of webhooks as in the specification Standard Webhooks."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.git_addresses import split_url
from dashwright.common.kinds.kind import Body, Kind, RenderedBody
from dashwright.common.kinds.secret_names import secret_name

#: Member of a webhook with its sealed secret.
ENCRYPTED_SECRET: Final = "encryptedSecret"  # noqa: S105

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105
_MIN_KEY_BYTES, _MAX_KEY_BYTES = 24, 64
_QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9._:/-]+")


def check_notify(draft: Draft, allowed_hosts: AllowedHosts) -> None:
    """Add a cause for each fault in the receivers of a batch. The addresses of host names are checked when a notification is sent."""
    notify = draft.spec.get("notify") or {}
    if "queue" in notify:
        _check_queue(draft, notify["queue"])
    if (webhook := notify.get("webhook")) is not None:
        _check_webhook(draft, webhook, "spec.notify.webhook", "secure.webhookSecret", allowed_hosts)


def check_receivers(draft: Draft, allowed_hosts: AllowedHosts) -> None:
    """Add a cause for each fault in the receivers of a repository. An empty list counts as missing."""
    receivers = draft.spec.get("notifications")
    if not receivers:
        draft.spec.pop("notifications", None)
        return
    names: set[str] = set()
    for index, receiver in enumerate(receivers):
        field, name = f"spec.notifications[{index}]", receiver["name"]
        if name in names:
            draft.duplicate(f"{field}.name", name)
            continue
        names.add(name)
        _check_webhook(draft, receiver, field, f"secure.notifications.{name}", allowed_hosts)


def queue_prefix(namespace: str) -> str:
    """Return the prefix of the queues that the batches of a namespace may notify.

    The prefix keeps an organization from writing to the queues of the services and of other organizations.
    """
    return f"notify.{namespace}."


def signing_key(secret: str) -> bytes:
    """Return the key in the secret of a webhook. Raises ValueError, without the secret in its message."""
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"give {_SECRET_PREFIX} and base64") from None
    if not _MIN_KEY_BYTES <= len(key) <= _MAX_KEY_BYTES:
        raise ValueError(f"give {_MIN_KEY_BYTES} to {_MAX_KEY_BYTES} bytes in base64, not {len(key)}")
    return key


def webhook_of(spec: dict[str, Any]) -> dict[str, Any] | None:
    """Return the webhook in the spec of a batch, or None."""
    notify = spec.get("notify")
    webhook = notify.get("webhook") if isinstance(notify, dict) else None
    return webhook if isinstance(webhook, dict) else None


def signing_secret_owner(namespace: str, name: str) -> str:
    """Return the name of the record to which the sealed webhook secret of a batch is bound."""
    return f"batch:{namespace}/{name}/webhook"


def receiver_secret_owner(namespace: str, repository: str, receiver: str) -> str:
    """Return the name of the record to which the sealed secret of a receiver of a repository is bound."""
    return f"repository:{namespace}/{repository}/notifications/{receiver}"


def remove_receiver_secrets(spec: dict[str, Any]) -> Mapping[str, str]:
    """Remove the sealed secrets of receivers from the spec of a repository, and return them by the name of the receiver."""
    receivers = spec.get("notifications") or ()
    return {receiver["name"]: sealed for receiver in receivers if (sealed := receiver.pop(ENCRYPTED_SECRET, None))}


def render_batch(_kind: Kind, body: Body, _version: str) -> RenderedBody:
    """Return the form of a batch that the API shows: without its sealed secret, but with the name of the secret."""
    # Most batches have no webhook. The search in the text saves parsing them.
    if ENCRYPTED_SECRET not in body.spec:
        return RenderedBody(body.spec, body.status)
    spec = orjson.loads(body.spec)
    webhook = webhook_of(spec)
    sealed = None if webhook is None else webhook.pop(ENCRYPTED_SECRET, None)
    if sealed is None:
        return RenderedBody(body.spec, body.status)
    secure = orjson.dumps({"webhookSecret": {"name": secret_name(sealed)}}).decode()
    return RenderedBody(orjson.dumps(spec).decode(), body.status, secure)


def _check_queue(draft: Draft, queue: str) -> None:
    """Add a cause unless the queue belongs to the organization and has a valid name."""
    prefix = queue_prefix(draft.namespace)
    if not queue.startswith(prefix) or queue == prefix:
        draft.invalid("spec.notify.queue", queue, f"the name of a queue of this organization begins with {prefix}")
    elif not _QUEUE_NAME.fullmatch(queue):
        draft.invalid("spec.notify.queue", queue, "a queue name consists of letters, digits and the characters . _ : / -")


def _check_webhook(draft: Draft, webhook: Mapping[str, Any], field: str, secret_field: str, allowed_hosts: AllowedHosts) -> None:
    """Add a cause for each fault of a webhook: its URL, and a missing secret."""
    _check_url(draft, f"{field}.url", webhook["url"], allowed_hosts)
    if not webhook.get(ENCRYPTED_SECRET):
        message = f"the secret of the signatures: {_SECRET_PREFIX} and {_MIN_KEY_BYTES} to {_MAX_KEY_BYTES} random bytes in base64"
        draft.required(f"{secret_field}.create", message)


def _check_url(draft: Draft, field: str, url: str, allowed_hosts: AllowedHosts) -> None:
    """Add a cause if a webhook has an invalid URL, or the IP address of a host that is neither public nor allowed."""
    parts = split_url(url)
    # Errors do not repeat the URL, which may contain a token.
    if parts is None or not url.isascii() or not url.isprintable() or " " in url:
        draft.invalid(field, "…", "give an address such as https://host[:port]/path")
        return
    host = parts.hostname or ""
    if parts.username is not None or parts.password is not None or parts.fragment:
        draft.invalid(field, host, "leave out user, password and what follows #")
        return
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # The addresses of a name may change, so they are checked when a notification is sent.
        return
    if not allowed_hosts.permits(address):
        draft.invalid(field, host, "the address is not public; an operator can list it in DASHWRIGHT_ALLOWED_HOSTS")
    elif parts.scheme == "http" and not allowed_hosts.lists(address):
        draft.invalid(field, host, "use https, or let an operator list the address in DASHWRIGHT_ALLOWED_HOSTS")
