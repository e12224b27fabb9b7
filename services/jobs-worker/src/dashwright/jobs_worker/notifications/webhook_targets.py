"""URLs and secrets of the webhooks that notifications are sent to."""

import base64
import binascii
from dataclasses import dataclass

from dashwright.common.errors import BadRequest, Gone
from dashwright.common.kinds.notifications import receiver_secret_owner, signing_key, signing_secret_owner
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.stores.notifications import ClaimedNotification


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Webhook that a notification is sent to."""

    url: str
    secret: str | None  #: Sealed secret of the signatures, in base64.
    owner: str  #: Name of the record to which the secret is bound.
    secret_field: str  #: Field by which the secret is set.

    def signing_key(self, cipher: SecretCipher) -> bytes:
        """Return the key of the signatures.

        Raises BadRequest for a missing or damaged secret, and SecretUnreadable for a secret that was sealed under another key.
        """
        try:
            sealed = base64.b64decode(self.secret or "")
            if not sealed:
                raise BadRequest(f"the webhook has no secret; send {self.secret_field}.create")
            return signing_key(cipher.decrypt(sealed, self.owner))
        except (binascii.Error, ValueError) as error:
            raise BadRequest(f"the stored secret of the webhook is damaged; send {self.secret_field}.create") from error


def target_of(notification: ClaimedNotification) -> WebhookTarget:
    """Return the webhook of a notification. Raises Gone if the repository, or its receiver, was deleted in the meantime."""
    if notification.subject_kind == "batch":
        return WebhookTarget(
            notification.target,
            notification.secret,
            signing_secret_owner(notification.namespace, notification.name),
            "secure.webhookSecret",
        )
    receivers = RepositorySpec.model_validate_json(notification.spec).notifications or () if notification.spec is not None else ()
    for receiver in receivers:
        if receiver.name == notification.target:
            owner = receiver_secret_owner(notification.namespace, notification.name, receiver.name)
            return WebhookTarget(receiver.url, receiver.encrypted_secret, owner, f"secure.notifications.{receiver.name}")
    raise Gone(f"the repository has no receiver '{notification.target}' any more, so the notification is not sent")
