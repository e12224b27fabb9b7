"""Secrets of the webhooks of batches: sealed before they are stored, kept as long as the host is the same, and never returned."""

from dataclasses import replace

from pydantic import ValidationError

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.resources.writing.sealing import forbidden_error, sent_secret, without_secrets
from dashwright.api.resources.writing.signing_secrets import SigningSecrets
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.notifications import ENCRYPTED_SECRET, signing_secret_owner, webhook_of
from dashwright.common.models.batch import BatchSecure, WebhookTarget
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores.resources import StoredObject


class WebhookSecretSealer:
    """A sealer of webhook secrets of batches, with the key from ``SECRET_KEY``."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._secrets = SigningSecrets(cipher)

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired object with the secret of its webhook sealed, as ``SigningSecrets`` does.

        Raises Invalid for a secret that is malformed or belongs to no webhook.
        """
        current_webhook = (webhook_of(read_json(current.spec)) if current is not None else None) or {}
        sent = sent_secret(desired, BatchSecure, "webhookSecret", current_webhook.get(ENCRYPTED_SECRET))
        annotations, webhook = without_secrets(desired.annotations), webhook_of(desired.spec)
        if webhook is None:
            if sent.create or sent.name:
                raise forbidden_error(desired, "secure.webhookSecret", "only a batch with a webhook has a secret")
            return replace(desired, secure={}, annotations=annotations)
        try:
            WebhookTarget.model_validate_json(write_json(webhook))
        except ValidationError:
            return desired  # Admission raises the error with its causes.
        field, secret_field, owner = "spec.notify.webhook", "secure.webhookSecret", signing_secret_owner(namespace, desired.name)
        sealed_webhook = self._secrets.with_sealed(
            desired, webhook, sent, current_webhook, field=field, secret_field=secret_field, owner=owner
        )
        notify = {**desired.spec["notify"], "webhook": sealed_webhook}
        return replace(desired, spec={**desired.spec, "notify": notify}, secure={}, annotations=annotations)
