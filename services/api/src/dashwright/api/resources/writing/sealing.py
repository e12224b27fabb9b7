"""Tokens of repositories: sealed before they are stored, kept while the git host is the same, and never shown."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import Cause, Invalid
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import GIT_TYPES, git_block, host_of, secret_name, token_place
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import GitHostRepositoryConfig, RepositorySecure, SecureValue
from dashwright.common.secrets import SecretBox, SecretUnreadable
from dashwright.common.stores.resources import StoredObject

_DROPPED: Final = "the token was deleted because it belongs to another host; send secure.token.create again"
"""Warning for a token that is not sent to another host than the one it was given for."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class TokenSealer:
    """Seals tokens with a key of the installation."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def seal(self, desired: DesiredObject, namespace: str, stored: StoredObject | None) -> DesiredObject:
        """Return the desired object with its token sealed.

        A sent token replaces the stored one, unless it is equal. Without a sent token the stored one is kept as long as the host is
        the same and ``secure.token.remove`` is not set. Raises Invalid for a sealed or named token that is not the stored one, for
        a token sent twice, and for a token without a git host.
        """
        if desired.kind is not REPOSITORY:
            return desired
        old = {} if stored is None else git_block(read_json(stored.spec))
        given = _sent_token(desired, old.get("encryptedToken"))
        blocks = {name: block for name in GIT_TYPES if isinstance(block := desired.spec.get(name), dict)}
        if not blocks and (given.create or given.name):
            raise _forbidden(desired, "secure.token", "only a repository on a git host has a token")
        sealed: dict[str, Any] = {}
        dropped: tuple[str, ...] = ()
        for name, sent in blocks.items():
            try:
                block = GitHostRepositoryConfig.model_validate_json(write_json(sent))
            except ValidationError:
                return desired  # admission refuses it, with the reasons
            stored_token = old.get("encryptedToken")
            self._seal(desired, name, block, given, old, token_place(namespace, desired.name))
            if stored_token and not block.encrypted_token and not given.remove:
                dropped = (_DROPPED,)
            sealed[name] = block.model_dump(mode="json", by_alias=True, exclude_none=True)
        annotations = _without_token(desired.annotations)
        return replace(desired, spec=desired.spec | sealed, secure={}, annotations=annotations, warnings=(*desired.warnings, *dropped))

    def _seal(
        self, desired: DesiredObject, name: str, block: GitHostRepositoryConfig, given: SecureValue, old: Mapping[str, Any], place: str
    ) -> None:
        """Replace the token of a block by the sealed token to store."""
        stored_token = old.get("encryptedToken")
        if block.encrypted_token and block.encrypted_token != stored_token:
            text = "the server sets it; send the token itself as secure.token.create"
            raise _forbidden(desired, f"spec.{name}.encryptedToken", text)
        if block.token and given.create:
            raise _forbidden(desired, f"spec.{name}.token", "secure.token.create is given as well; leave one of them out")
        token, block.token = given.create or block.token, None
        is_same_host = host_of(old.get("url")) == host_of(block.url)
        if stored_token and is_same_host and not given.remove and (not token or self._open_token(stored_token, place) == token):
            block.encrypted_token = stored_token
        else:
            block.encrypted_token = base64.b64encode(self._box.seal(token, place)).decode() if token else None

    def _open_token(self, sealed: str, place: str) -> str | None:
        """Return the token, or None if this key does not open it; then the sent token is sealed again."""
        try:
            return self._box.open(base64.b64decode(sealed), place)
        except (SecretUnreadable, binascii.Error):
            return None


def _sent_token(desired: DesiredObject, stored_token: str | None) -> SecureValue:
    """Return what the client sends about the token outside of the spec. Raises Invalid."""
    try:
        secure = RepositorySecure.model_validate_json(write_json(desired.secure))
    except ValidationError as error:
        causes = [Cause(f"secure.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise REPOSITORY.invalid(desired.name, causes) from error
    given = secure.token or SecureValue()
    if given.create and given.remove:
        raise _forbidden(desired, "secure.token.remove", "create is given as well; leave one of them out")
    if given.name and given.name != (secret_name(stored_token) if stored_token else None):
        raise _forbidden(
            desired, "secure.token.name", "it does not name the secret of this repository; send the token as secure.token.create"
        )
    return given


def _forbidden(desired: DesiredObject, field: str, text: str) -> Invalid:
    return REPOSITORY.invalid(desired.name, [Cause(field, "FieldValueForbidden", f"Forbidden: {text}")])


def _without_token(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Return annotations without the token that ``kubectl apply`` copies into one of them."""
    last_applied = annotations.get(_LAST_APPLIED)
    if last_applied is None:
        return annotations
    rest = {key: text for key, text in annotations.items() if key != _LAST_APPLIED}
    try:
        applied = read_json(last_applied)
        applied.pop("secure", None)
        for block in GIT_TYPES:
            applied["spec"].get(block, {}).pop("token", None)
        return {**rest, _LAST_APPLIED: write_json(applied).decode() + "\n"}
    except (Invalid, KeyError, TypeError, AttributeError):
        return rest
