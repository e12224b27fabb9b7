"""The token of a repository: sealed before anything is stored, kept while it goes to the same host, and never shown."""

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

_DROPPED: Final = "the token was dropped, since it was given for another host; send secure.token.create again"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class TokenSealer:
    """Seals with the installation's key."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def seal(self, wanted: DesiredObject, namespace: str, stored: StoredObject | None) -> DesiredObject:
        """Return the same object with its token sealed.

        A token that is sent, as ``secure.token.create`` or in the block, replaces the stored one, unless it is the same. None sent keeps
        it, as long as it goes to the same host and ``secure.token.remove`` is not set. Raises Invalid for a sealed token or the name of
        one that is not the stored one, for a token that is given twice, and for one of a repository without a git host.
        """
        if wanted.kind is not REPOSITORY:
            return wanted
        old = {} if stored is None else git_block(read_json(stored.spec))
        given = _sent_token(wanted, old.get("encryptedToken"))
        blocks = {name: block for name in GIT_TYPES if isinstance(block := wanted.spec.get(name), dict)}
        if not blocks and (given.create or given.name):
            raise _forbidden(wanted, "secure.token", "only a repository on a git host has a token")
        sealed: dict[str, Any] = {}
        dropped: tuple[str, ...] = ()
        for name, sent in blocks.items():
            try:
                block = GitHostRepositoryConfig.model_validate_json(write_json(sent))
            except ValidationError:
                return wanted  # admission refuses it, with the reasons
            kept = old.get("encryptedToken")
            self._seal(wanted, name, block, given, old, token_place(namespace, wanted.name))
            if kept and not block.encrypted_token and not given.remove:
                dropped = (_DROPPED,)
            sealed[name] = block.model_dump(mode="json", by_alias=True, exclude_none=True)
        annotations = _without_token(wanted.annotations)
        return replace(wanted, spec=wanted.spec | sealed, secure={}, annotations=annotations, warnings=(*wanted.warnings, *dropped))

    def _seal(
        self, wanted: DesiredObject, name: str, block: GitHostRepositoryConfig, given: SecureValue, old: Mapping[str, Any], place: str
    ) -> None:
        """Replace the token of a block by the sealed one that is to be stored."""
        kept = old.get("encryptedToken")
        if block.encrypted_token and block.encrypted_token != kept:
            text = "the server sets it; send the token itself as secure.token.create"
            raise _forbidden(wanted, f"spec.{name}.encryptedToken", text)
        if block.token and given.create:
            raise _forbidden(wanted, f"spec.{name}.token", "secure.token.create is given as well; leave one of them out")
        token, block.token = given.create or block.token, None
        is_same_host = host_of(old.get("url")) == host_of(block.url)
        if kept and is_same_host and not given.remove and (not token or self._open_token(kept, place) == token):
            block.encrypted_token = kept
        else:
            block.encrypted_token = base64.b64encode(self._box.seal(token, place)).decode() if token else None

    def _open_token(self, sealed: str, place: str) -> str | None:
        """None where this key does not open it: then the token is sealed anew."""
        try:
            return self._box.open(base64.b64decode(sealed), place)
        except (SecretUnreadable, binascii.Error):
            return None


def _sent_token(wanted: DesiredObject, kept: str | None) -> SecureValue:
    """Return what the client says of the token beside the spec. Raises Invalid."""
    try:
        secure = RepositorySecure.model_validate_json(write_json(wanted.secure))
    except ValidationError as error:
        causes = [Cause(f"secure.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise REPOSITORY.invalid(wanted.name, causes) from error
    given = secure.token or SecureValue()
    if given.create and given.remove:
        raise _forbidden(wanted, "secure.token.remove", "create is given as well; leave one of them out")
    if given.name and given.name != (secret_name(kept) if kept else None):
        raise _forbidden(wanted, "secure.token.name", "it names no secret of this repository; send the token as secure.token.create")
    return given


def _forbidden(wanted: DesiredObject, field: str, text: str) -> Invalid:
    return REPOSITORY.invalid(wanted.name, [Cause(field, "FieldValueForbidden", f"Forbidden: {text}")])


def _without_token(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """``kubectl apply`` keeps what it sent in an annotation, the token with it: there it is left out."""
    kept = annotations.get(_LAST_APPLIED)
    if kept is None:
        return annotations
    rest = {key: text for key, text in annotations.items() if key != _LAST_APPLIED}
    try:
        applied = read_json(kept)
        applied.pop("secure", None)
        for block in GIT_TYPES:
            applied["spec"].get(block, {}).pop("token", None)
        return {**rest, _LAST_APPLIED: write_json(applied).decode() + "\n"}
    except (Invalid, KeyError, TypeError, AttributeError):
        return rest
