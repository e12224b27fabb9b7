"""Sealing of the secrets that notifications are signed with."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.resources.writing.sealing import forbidden_error
from dashwright.common.errors import Cause
from dashwright.common.kinds.notifications import ENCRYPTED_SECRET, signing_key
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.provisioning import SecureValue
from dashwright.common.secrets import SecretCipher, SecretUnreadable


class SigningSecrets:
    """Secrets of webhooks, which are sealed with the key from ``SECRET_KEY``."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._cipher = cipher

    def with_sealed(
        self,
        desired: DesiredObject,
        webhook: Mapping[str, Any],
        sent: SecureValue,
        current: Mapping[str, Any],
        *,
        field: str,
        secret_field: str,
        owner: str,
    ) -> dict[str, Any]:
        """Return a webhook with its secret sealed for ``owner``, the record that has it. ``current`` is the stored webhook, or empty.

        A sent secret replaces the stored one, unless it is equal. Without a sent secret the stored one is kept as long as the scheme, host
        and port are the same and it is not removed. Raises Invalid, with ``field`` or ``secret_field``, for a faulty secret.
        """
        current_secret: str | None = current.get(ENCRYPTED_SECRET)
        # Clients send back the object that they read, so the stored value is accepted.
        if webhook.get(ENCRYPTED_SECRET) not in (None, current_secret):
            message = f"the server sets it; send the secret itself as {secret_field}.create"
            raise forbidden_error(desired, f"{field}.{ENCRYPTED_SECRET}", message)
        # Otherwise a caller who does not know the secret could have requests that are signed with it sent to another host.
        is_kept = host_of(current.get("url")) == host_of(webhook["url"]) and not sent.remove
        sealed = current_secret if is_kept else None
        # Encryption gives another text each time. An equal secret is kept, so that a repeated write does not change the object.
        if sent.create and (sealed is None or self._decrypt(sealed, owner) != sent.create):
            sealed = self._seal(desired, sent.create, f"{secret_field}.create", owner)
        other_members = {key: value for key, value in webhook.items() if key != ENCRYPTED_SECRET}
        return other_members if sealed is None else {**other_members, ENCRYPTED_SECRET: sealed}

    def _seal(self, desired: DesiredObject, secret: str, field: str, owner: str) -> str:
        """Return the sealed secret in base64. Raises Invalid for a malformed secret; the error does not contain the secret."""
        try:
            signing_key(secret)
        except ValueError as error:
            cause = Cause(field, "FieldValueInvalid", f"Invalid value: {error}")
            raise desired.kind.invalid(desired.name, [cause]) from error
        return base64.b64encode(self._cipher.encrypt(secret, owner)).decode()

    def _decrypt(self, sealed: str, owner: str) -> str | None:
        """Return the secret, or None if it cannot be decrypted with the current key."""
        try:
            return self._cipher.decrypt(base64.b64decode(sealed), owner)
        except (SecretUnreadable, binascii.Error):
            return None
