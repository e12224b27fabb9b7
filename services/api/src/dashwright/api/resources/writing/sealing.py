"""Tokens of repositories: sealed before they are stored, kept as long as the git host is the same, and never returned."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.resources.metadata import LAST_APPLIED_CONFIGURATION
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.errors import Cause, Invalid
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import GIT_TYPES, git_config, host_of, secret_name, token_owner
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySecure, SecureValue
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.stores.resources import StoredObject

_HOST_CHANGED_WARNING: Final = "the token was deleted because it belongs to another host; send secure.token.create again"
"""Warning that a token was deleted because the host changed: a token is never sent to a host that it was not created for."""


class TokenSealer:
    """A sealer of tokens of repositories, with the key from ``SECRET_KEY``."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._cipher = cipher

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired object with its token sealed.

        A sent token replaces the stored one, unless it is equal. Without a sent token the stored one is kept as long as the host is
        the same and ``secure.token.remove`` is not set. Raises Invalid for an ``encryptedToken`` or ``secure.token.name`` that is not
        the stored one, for a token sent twice, and for a token without a git host.
        """
        if desired.kind is not REPOSITORY:
            return desired
        current_config = {} if current is None else git_config(read_json(current.spec))
        sent_token = sent_secret(desired, RepositorySecure, "token", current_config.get("encryptedToken"))
        sent_configs = {name: sent_config for name in GIT_TYPES if isinstance(sent_config := desired.spec.get(name), dict)}
        if not sent_configs and (sent_token.create or sent_token.name):
            raise forbidden_error(desired, "secure.token", "only a repository on a git host has a token")
        sealed_configs: dict[str, Any] = {}
        token_warnings: tuple[str, ...] = ()
        for name, sent_config in sent_configs.items():
            try:
                config = GitHostRepositoryConfig.model_validate_json(write_json(sent_config))
            except ValidationError:
                return desired  # Admission raises the error with its causes.
            current_token = current_config.get("encryptedToken")
            self._seal_config(desired, name, config, sent_token, current_config, token_owner(namespace, desired.name))
            if current_token and not config.encrypted_token and not sent_token.remove:
                token_warnings = (_HOST_CHANGED_WARNING,)
            sealed_configs[name] = config.model_dump(mode="json", by_alias=True, exclude_none=True)
        annotations = without_secrets(desired.annotations)
        return replace(
            desired, spec=desired.spec | sealed_configs, secure={}, annotations=annotations, warnings=(*desired.warnings, *token_warnings)
        )

    def _seal_config(
        self,
        desired: DesiredObject,
        name: str,
        config: GitHostRepositoryConfig,
        sent_token: SecureValue,
        current_config: Mapping[str, Any],
        owner: str,
    ) -> None:
        """Replace the token in the configuration of a git host by the sealed token to store.

        A sealed token is bound to ``owner``, the record that contains it, so that it cannot be decrypted in another record.
        """
        current_token = current_config.get("encryptedToken")
        if config.encrypted_token and config.encrypted_token != current_token:
            message = "the server sets it; send the token itself as secure.token.create"
            raise forbidden_error(desired, f"spec.{name}.encryptedToken", message)
        if config.token and sent_token.create:
            raise forbidden_error(desired, f"spec.{name}.token", "secure.token.create is given as well; leave one of them out")
        token, config.token = sent_token.create or config.token, None
        is_same_host = host_of(current_config.get("url")) == host_of(config.url)
        may_keep_token = is_same_host and not sent_token.remove
        if current_token and may_keep_token and (not token or self._decrypt_token(current_token, owner) == token):
            config.encrypted_token = current_token
        else:
            config.encrypted_token = base64.b64encode(self._cipher.encrypt(token, owner)).decode() if token else None

    def _decrypt_token(self, sealed_token: str, owner: str) -> str | None:
        """Return the token, or None if it cannot be decrypted with the current key. ``sealed_token`` is in base64."""
        try:
            return self._cipher.decrypt(base64.b64decode(sealed_token), owner)
        except (SecretUnreadable, binascii.Error):
            return None


def sent_secret(desired: DesiredObject, model: type[ApiModel], member: str, current: str | None) -> SecureValue:
    """Return a member of ``secure``, which has the model ``model``. ``current`` is the stored sealed secret.

    Raises Invalid if it is malformed or names another secret.
    """
    try:
        secure = model.model_validate_json(write_json(desired.secure))
    except ValidationError as error:
        causes = [Cause(f"secure.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise desired.kind.invalid(desired.name, causes) from error
    sent = SecureValue.model_validate(secure.model_dump(by_alias=True).get(member) or {})
    field = f"secure.{member}"
    if sent.create and sent.remove:
        raise forbidden_error(desired, f"{field}.remove", "create is given as well; leave one of them out")
    if sent.name and sent.name != (secret_name(current) if current else None):
        message = f"it does not name the secret of this {desired.kind.singular}; send the secret as {field}.create"
        raise forbidden_error(desired, f"{field}.name", message)
    return sent


def forbidden_error(desired: DesiredObject, field: str, message: str) -> Invalid:
    """Return the error that a value is not allowed in a field."""
    return desired.kind.invalid(desired.name, [Cause(field, "FieldValueForbidden", f"Forbidden: {message}")])


def without_secrets(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Return annotations without the secrets that ``kubectl apply`` copies into one of them."""
    last_applied = annotations.get(LAST_APPLIED_CONFIGURATION)
    if last_applied is None:
        return annotations
    other_annotations = {key: value for key, value in annotations.items() if key != LAST_APPLIED_CONFIGURATION}
    try:
        applied_object = read_json(last_applied)
        applied_object.pop("secure", None)
        for name in GIT_TYPES:
            applied_object["spec"].get(name, {}).pop("token", None)
        return {**other_annotations, LAST_APPLIED_CONFIGURATION: write_json(applied_object).decode() + "\n"}
    except (Invalid, KeyError, TypeError, AttributeError):
        return other_annotations
