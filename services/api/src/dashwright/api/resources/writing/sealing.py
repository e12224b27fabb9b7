"""Tokens and deploy keys of repositories: sealed before they are stored, kept as long as the git host is the same, and never returned."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

from pydantic import ValidationError

from dashwright.api.resources.metadata import LAST_APPLIED_CONFIGURATION
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.errors import Cause, Invalid
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds import openpgp
from dashwright.common.kinds.git_addresses import is_ssh_form
from dashwright.common.kinds.repository import GIT_TYPES, git_config, host_of, signing_key_owner, ssh_key_owner, token_owner
from dashwright.common.kinds.secret_names import secret_name
from dashwright.common.kinds.ssh_access import normalize_private_key
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySecure, SecureValue
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.stores.resources import StoredObject

Secure = TypeVar("Secure", bound=ApiModel)
"""The model of the member ``secure`` of a kind."""

_HOST_CHANGED_WARNING: Final = "the {noun} was deleted because it belongs to another host; send secure.{member}.create again"
"""Warning that a secret was deleted because the host changed: a secret is never used at a host that it was not created for."""


def _normalize_signing_key(text: str) -> str:
    """Return an OpenPGP or SSH private key in the form that git signs with.

    Raises ValueError for a key that cannot sign. The error does not contain the key.
    """
    return openpgp.normalize_private_key(text) if openpgp.is_private_key(text) else normalize_private_key(text)


@dataclass(frozen=True, slots=True)
class _Credential:
    """A secret of a repository on a git host."""

    #: Member of ``secure``.
    member: str
    #: Member of the configuration of the git host that contains the sealed secret.
    sealed_member: str
    #: Attribute of that member in the model.
    attribute: str
    #: The name of the secret in messages.
    noun: str
    #: Returns the record that the sealed secret is bound to, by namespace and name.
    owner: Callable[[str, str], str]
    #: Returns the form to store. Raises ValueError for a malformed secret; the error does not contain the secret.
    normalize: Callable[[str], str] = str
    #: Whether the secret is used at the git host, so that it is never kept for another host.
    is_bound_to_host: bool = True


_TOKEN: Final = _Credential("token", "encryptedToken", "encrypted_token", "token", token_owner)
_SSH_KEY: Final = _Credential("sshKey", "encryptedSshKey", "encrypted_ssh_key", "deploy key", ssh_key_owner, normalize_private_key)

_SIGNING_KEY: Final = _Credential(
    "signingKey",
    "encryptedSigningKey",
    "encrypted_signing_key",
    "signing key",
    signing_key_owner,
    _normalize_signing_key,
    is_bound_to_host=False,
)


class SecretSealer(Protocol):
    """A sealer of secrets of one kind, which ``Writer`` calls before the object is stored."""

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired object with its secrets sealed. ``current`` is the stored object. Raises Invalid for a faulty secret."""
        ...


class TokenSealer:
    """A sealer of tokens, deploy keys and signing keys of repositories, with the key from ``SECRET_KEY``."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._cipher = cipher

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired object with its secrets sealed.

        A sent secret replaces the stored one, unless they are equal. Without a sent secret, the stored one is kept if the host
        is unchanged and ``remove`` is not set.

        Raises Invalid for a sealed secret or a name other than the stored one, for a token that is sent twice, for a
        malformed key, for a token if the address is for SSH, and for a deploy key if it is not.
        """
        current_config = {} if current is None else git_config(read_json(current.spec))
        sent_secrets = {
            credential: sent_secret(desired, RepositorySecure, credential.member, current_config.get(credential.sealed_member))
            for credential in (_TOKEN, _SSH_KEY, _SIGNING_KEY)
        }
        sent_configs = {name: sent_config for name in GIT_TYPES if isinstance(sent_config := desired.spec.get(name), dict)}
        for credential, sent in sent_secrets.items():
            if not sent_configs and (sent.create or sent.name):
                message = f"only a repository on a git host has a {credential.noun}"
                raise forbidden_error(desired, f"secure.{credential.member}", message)
        sealed_configs: dict[str, Any] = {}
        warnings: tuple[str, ...] = ()
        for name, sent_config in sent_configs.items():
            try:
                config = GitHostRepositoryConfig.model_validate_json(write_json(sent_config))
            except ValidationError:
                return desired  # Admission raises the error with its causes.
            # Admission accepts one configuration only, so the warnings of a single one are enough.
            warnings = ()
            for credential, sent in _with_token_of(config, sent_secrets, desired, name).items():
                self._seal_config(desired, name, config, credential, sent, current_config, credential.owner(namespace, desired.name))
                if current_config.get(credential.sealed_member) and not getattr(config, credential.attribute) and not sent.remove:
                    warnings = (*warnings, _HOST_CHANGED_WARNING.format(noun=credential.noun, member=credential.member))
            sealed_configs[name] = config.model_dump(mode="json", by_alias=True, exclude_none=True)
        annotations, warnings = without_secrets(desired.annotations), (*desired.warnings, *warnings)
        return replace(desired, spec=desired.spec | sealed_configs, secure={}, annotations=annotations, warnings=warnings)

    def _seal_config(
        self,
        desired: DesiredObject,
        name: str,
        config: GitHostRepositoryConfig,
        credential: _Credential,
        sent: SecureValue,
        current_config: Mapping[str, Any],
        owner: str,
    ) -> None:
        """Write the sealed secret to store into the configuration of a git host.

        A sealed secret is bound to ``owner``, the record that contains it, so that it cannot be decrypted in another record.
        """
        current_secret: str | None = current_config.get(credential.sealed_member)
        # A client may send back the sealed secret that it read.
        if getattr(config, credential.attribute) not in (None, "", current_secret):
            message = f"the server sets it; send the {credential.noun} itself as secure.{credential.member}.create"
            raise forbidden_error(desired, f"spec.{name}.{credential.sealed_member}", message)
        needs_ssh_address = credential is _SSH_KEY
        if sent.create and credential is not _SIGNING_KEY and is_ssh_form(config.url or "") != needs_ssh_address:
            message = "an SSH address has no token; send its deploy key as secure.sshKey.create"
            if credential is _SSH_KEY:
                message = "only an SSH address (ssh://git@host/path or git@host:path) has a deploy key; send a token as secure.token.create"
            raise forbidden_error(desired, f"secure.{credential.member}.create", message)
        secret = _normalized(desired, credential, sent.create) if sent.create else None
        is_same_host = host_of(current_config.get("url")) == host_of(config.url)
        may_keep = (is_same_host or not credential.is_bound_to_host) and not sent.remove
        # An equal secret is not sealed again, since each sealing gives another text, which would count as a change.
        if current_secret and may_keep and (not secret or self._decrypt(current_secret, owner) == secret):
            sealed: str | None = current_secret
        else:
            sealed = base64.b64encode(self._cipher.encrypt(secret, owner)).decode() if secret else None
        setattr(config, credential.attribute, sealed)

    def _decrypt(self, sealed: str, owner: str) -> str | None:
        """Return the secret, or None if it cannot be decrypted with the current key. ``sealed`` is in base64."""
        try:
            return self._cipher.decrypt(base64.b64decode(sealed), owner)
        except (SecretUnreadable, binascii.Error):
            return None


def _with_token_of(
    config: GitHostRepositoryConfig, sent_secrets: Mapping[_Credential, SecureValue], desired: DesiredObject, name: str
) -> Mapping[_Credential, SecureValue]:
    """Move the token from the configuration of a git host to the sent secrets, and return the sent secrets."""
    token, config.token = config.token, None
    if not token:
        return sent_secrets
    sent_token = sent_secrets[_TOKEN]
    if sent_token.create:
        raise forbidden_error(desired, f"spec.{name}.token", "secure.token.create is given as well; leave one of them out")
    return {**sent_secrets, _TOKEN: sent_token.model_copy(update={"create": token})}


def _normalized(desired: DesiredObject, credential: _Credential, secret: str) -> str:
    """Return the form of a secret to store. Raises Invalid for a malformed secret; the error does not contain the secret."""
    try:
        return credential.normalize(secret)
    except ValueError as fault:
        cause = Cause(f"secure.{credential.member}.create", "FieldValueInvalid", f"Invalid value: {fault}")
        raise desired.kind.invalid(desired.name, [cause]) from fault


def sent_secret(desired: DesiredObject, model: type[ApiModel], member: str, current: str | None) -> SecureValue:
    """Return a member of ``secure``, which has the model ``model``. ``current`` is the stored sealed secret.

    Raises Invalid if it is malformed or names another secret.
    """
    secure = read_secure(desired, model)
    sent = SecureValue.model_validate(secure.model_dump(by_alias=True).get(member) or {})
    check_sent_secret(desired, f"secure.{member}", sent, current)
    return sent


def read_secure(desired: DesiredObject, model: type[Secure]) -> Secure:
    """Return ``secure`` as an object of the model. Raises Invalid if it is malformed."""
    try:
        return model.model_validate_json(write_json(desired.secure))
    except ValidationError as error:
        causes = [Cause(f"secure.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise desired.kind.invalid(desired.name, causes) from error


def check_sent_secret(desired: DesiredObject, field: str, sent: SecureValue, current: str | None) -> None:
    """Raise Invalid for a secret that is both set and removed, or that names another secret than the stored one."""
    if sent.create and sent.remove:
        raise forbidden_error(desired, f"{field}.remove", "create is given as well; leave one of them out")
    if sent.name and sent.name != (secret_name(current) if current else None):
        message = f"it does not name the secret of this {desired.kind.singular}; send the secret as {field}.create"
        raise forbidden_error(desired, f"{field}.name", message)


def forbidden_error(desired: DesiredObject, field: str, message: str) -> Invalid:
    """Return the error that a value is not allowed in a field."""
    return desired.kind.invalid(desired.name, [Cause(field, "FieldValueForbidden", f"Forbidden: {message}")])


def without_secrets(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Return annotations without secrets: ``kubectl apply`` copies the sent object with its secrets into an annotation."""
    last_applied = annotations.get(LAST_APPLIED_CONFIGURATION)
    if last_applied is None:
        return annotations
    other_annotations = {key: value for key, value in annotations.items() if key != LAST_APPLIED_CONFIGURATION}
    try:
        applied_object = read_json(last_applied)
        applied_object.pop("secure", None)
        for name in GIT_TYPES:
            applied_object["spec"].get(name, {}).pop("token", None)
        # kubectl ends the annotation with a newline.
        return {**other_annotations, LAST_APPLIED_CONFIGURATION: write_json(applied_object).decode() + "\n"}
    except (Invalid, KeyError, TypeError, AttributeError):
        return other_annotations
