"""The token of a repository: sealed before anything is stored, kept while it goes to the same host, and never shown."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.resources.writing.admission import invalid
from dashwright.api.resources.writing.wanted import Wanted
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import Cause, Invalid
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import host_of, token_place
from dashwright.common.models.provisioning import GitHostRepositoryConfig
from dashwright.common.secrets import SecretBox, SecretUnreadable
from dashwright.common.stores.resources import Stored

_BLOCKS: Final = ("githost", "github")
_DROPPED: Final = "the token was dropped, since it was given for another host; send spec.githost.token anew"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class Sealing:
    """Seals with the installation's key."""

    def __init__(self, box: SecretBox) -> None:
        self._box = box

    def seal(self, wanted: Wanted, namespace: str, stored: Stored | None) -> Wanted:
        """The same object with its token sealed.

        A token that is sent replaces the stored one, unless it is the same; none sent keeps it, as long as it goes to the same host.
        Raises Invalid for a sealed one that is not the stored one: what is sealed is of this server's making only.
        """
        name = next((block for block in _BLOCKS if isinstance(wanted.spec.get(block), dict)), None)
        if wanted.kind is not REPOSITORY or name is None:
            return wanted
        try:
            block = GitHostRepositoryConfig.model_validate_json(write_json(wanted.spec[name]))
        except ValidationError:
            return wanted  # admission refuses it, with the reasons
        old: dict[str, Any] = {} if stored is None else read_json(stored.spec).get("githost") or {}
        kept = old.get("encryptedToken")
        if block.encrypted_token and block.encrypted_token != kept:
            text = "Forbidden: the server sets it; send the token itself as spec.githost.token"
            raise invalid(REPOSITORY, wanted.name, [Cause("spec.githost.encryptedToken", "FieldValueForbidden", text)])
        block.encrypted_token = self._sealed(block, old, kept, token_place(namespace, wanted.name))
        dropped = (_DROPPED,) if kept and not block.encrypted_token else ()
        block.token = None
        rest = {key: value for key, value in wanted.spec.items() if key not in _BLOCKS}
        spec = {**rest, "githost": block.model_dump(mode="json", by_alias=True, exclude_none=True)}
        return replace(wanted, spec=spec, annotations=_without_token(wanted.annotations), warnings=(*wanted.warnings, *dropped))

    def _sealed(self, block: GitHostRepositoryConfig, old: Mapping[str, Any], kept: str | None, place: str) -> str | None:
        is_same_host = host_of(old.get("url")) == host_of(block.url)
        if is_same_host and kept and (not block.token or self._opens(kept, place) == block.token):
            return kept
        return base64.b64encode(self._box.seal(block.token, place)).decode() if block.token else None

    def _opens(self, sealed: str, place: str) -> str | None:
        """None where this key does not open it: then the token is sealed anew."""
        try:
            return self._box.open(base64.b64decode(sealed), place)
        except (SecretUnreadable, binascii.Error):
            return None


def _without_token(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """``kubectl apply`` keeps what it sent in an annotation, the token with it: there it is left out."""
    kept = annotations.get(_LAST_APPLIED)
    if kept is None:
        return annotations
    rest = {key: text for key, text in annotations.items() if key != _LAST_APPLIED}
    try:
        applied = read_json(kept)
        for block in _BLOCKS:
            applied["spec"].get(block, {}).pop("token", None)
        return {**rest, _LAST_APPLIED: write_json(applied).decode() + "\n"}
    except (Invalid, KeyError, TypeError, AttributeError):
        return rest
