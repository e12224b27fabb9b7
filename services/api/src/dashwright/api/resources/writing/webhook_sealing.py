"""Secrets of the webhooks of batches: sealed before they are stored, kept as long as the host is the same, and never returned."""

import base64
import binascii
from dataclasses import replace

from pydantic import ValidationError

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.resources.writing.sealing import forbidden_error, sent_secret, without_secrets
from dashwright.common.errors import Cause
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.notifications import ENCRYPTED_SECRET, signing_key, signing_secret_owner, webhook_of
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.batch import BatchSecure, WebhookTarget
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.stores.resources import StoredObject


class WebhookSecretSealer:
    """A sealer of webhook secrets of batches, with the key from ``SECRET_KEY``."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._cipher = cipher

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired object with the secret of its webhook sealed.

        A sent secret replaces the stored one, unless it is equal. Without a sent secret the stored one is kept as long as the host is
        the same and ``secure.webhookSecret.remove`` is not set. Raises Invalid for a secret that is malformed or belongs to no webhook.
        """
        current_webhook = (webhook_of(read_json(current.spec)) if current is not None else None) or {}
        current_secret = current_webhook.get(ENCRYPTED_SECRET)
        sent = sent_secret(desired, BatchSecure, "webhookSecret", current_secret)
        annotations, webhook = without_secrets(desired.annotations), webhook_of(desired.spec)
        if webhook is None:
            if sent.create or sent.name:
                raise forbidden_error(desired, "secure.webhookSecret", "only a batch with a webhook has a secret")
            return replace(desired, secure={}, annotations=annotations)
        try:
            target = WebhookTarget.model_validate_json(write_json(webhook))
        except ValidationError:
            return desired  # Admission raises the error with its causes.
        if target.encrypted_secret not in (None, current_secret):
            message = "the server sets it; send the secret itself as secure.webhookSecret.create"
            raise forbidden_error(desired, f"spec.notify.webhook.{ENCRYPTED_SECRET}", message)
        is_kept = host_of(current_webhook.get("url")) == host_of(target.url) and not sent.remove
        sealed: str | None = current_secret if is_kept else None
        owner = signing_secret_owner(namespace, desired.name)
        if sent.create and (sealed is None or self._decrypt(sealed, owner) != sent.create):
            sealed = self._seal(desired, sent.create, owner)
        other_members = {key: value for key, value in webhook.items() if key != ENCRYPTED_SECRET}
        sealed_webhook = other_members if sealed is None else {**other_members, ENCRYPTED_SECRET: sealed}
        notify = {**desired.spec["notify"], "webhook": sealed_webhook}
        return replace(desired, spec={**desired.spec, "notify": notify}, secure={}, annotations=annotations)

    def _seal(self, desired: DesiredObject, secret: str, owner: str) -> str:
        """Return the sealed secret in base64. Raises Invalid, without the secret, if it is malformed."""
        try:
            signing_key(secret)
        except ValueError as error:
            cause = Cause("secure.webhookSecret.create", "FieldValueInvalid", f"Invalid value: {error}")
            raise desired.kind.invalid(desired.name, [cause]) from error
        return base64.b64encode(self._cipher.encrypt(secret, owner)).decode()

    def _decrypt(self, sealed: str, owner: str) -> str | None:
        """Return the secret, or None if it cannot be decrypted with the current key."""
        try:
            return self._cipher.decrypt(base64.b64decode(sealed), owner)
        except (SecretUnreadable, binascii.Error):
            return None
