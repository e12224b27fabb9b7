"""Secrets of the receivers of a repository's notifications: sealed before they are stored, and never returned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.resources.writing.sealing import check_sent_secret, forbidden_error, read_secure
from dashwright.api.resources.writing.signing_secrets import SigningSecrets
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.notifications import ENCRYPTED_SECRET, receiver_secret_owner
from dashwright.common.models.notifications import NotificationReceiver
from dashwright.common.models.provisioning import RepositorySecure, SecureValue
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores.resources import StoredObject

_RECEIVERS: Final = TypeAdapter(list[NotificationReceiver])


class ReceiverSecretSealer:
    """A sealer of the secrets of receivers, with the key from ``SECRET_KEY``. It leaves other secrets in ``secure``."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._secrets = SigningSecrets(cipher)

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired repository with the secrets of its receivers sealed, as ``SigningSecrets`` does. Names identify receivers.

        Raises Invalid for a secret that is malformed or belongs to no receiver.
        """
        sent_secrets = read_secure(desired, RepositorySecure).notifications or {}
        receivers = _receivers(desired.spec)
        if receivers is None:
            return desired  # Admission raises the error with its causes.
        current_receivers = {} if current is None else {item["name"]: item for item in _receivers(read_json(current.spec)) or ()}
        names = {receiver["name"] for receiver in receivers}
        for name, sent in sent_secrets.items():
            # A client that removes a receiver may still send the name of its secret, as the server returned it.
            check_sent_secret(desired, f"secure.notifications.{name}", sent, current_receivers.get(name, {}).get(ENCRYPTED_SECRET))
            if name not in names and sent.create:
                raise forbidden_error(desired, f"secure.notifications.{name}", f"no receiver in spec.notifications has the name '{name}'")
        sealed_receivers = []
        for index, receiver in enumerate(receivers):
            name = receiver["name"]
            sent, current_receiver = sent_secrets.get(name, SecureValue()), current_receivers.get(name, {})
            field, secret_field = f"spec.notifications[{index}]", f"secure.notifications.{name}"
            owner = receiver_secret_owner(namespace, desired.name, name)
            sealed_receivers.append(
                self._secrets.with_sealed(desired, receiver, sent, current_receiver, field=field, secret_field=secret_field, owner=owner)
            )
        return replace(desired, spec={**desired.spec, "notifications": sealed_receivers}) if receivers else desired


def _receivers(spec: Mapping[str, Any]) -> Sequence[dict[str, Any]] | None:
    """Return the receivers in the spec of a repository, or None if they are not valid by their model."""
    receivers = spec.get("notifications")
    try:
        _RECEIVERS.validate_json(write_json(receivers or []))
    except ValidationError:
        return None
    return receivers or ()
