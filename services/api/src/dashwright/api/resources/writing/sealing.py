"""The token of a repository: sealed before anything is stored, kept while it goes to the same host, and never shown."""

import base64
import binascii
from dataclasses import replace
from typing import Any

from dashwright.api.resources.writing.admission import invalid
from dashwright.api.resources.writing.wanted import Wanted
from dashwright.common.document import read_json
from dashwright.common.errors import Cause
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import host_of, token_place
from dashwright.common.secrets import SecretBox, SecretUnreadable
from dashwright.common.stores.resources import Stored

_BLOCKS = ("githost", "github")


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
        block: dict[str, Any] = dict(wanted.spec[name])
        old: dict[str, Any] = {} if stored is None else read_json(stored.spec).get("githost") or {}
        kept, token = old.get("encryptedToken"), block.get("token") or ""
        if block.get("encryptedToken") and block["encryptedToken"] != kept:
            text = "Forbidden: the server sets it; send the token itself as spec.githost.token"
            raise invalid(REPOSITORY, wanted.name, [Cause("spec.githost.encryptedToken", "FieldValueForbidden", text)])
        if not isinstance(token, str):
            return wanted
        is_same_host = host_of(old.get("url")) == host_of(block.get("url"))
        place = token_place(namespace, wanted.name)
        sealed = kept if is_same_host and (not token or self._opens(kept, place) == token) else None
        if token and sealed is None:
            sealed = base64.b64encode(self._box.seal(token, place)).decode()
        rest = {key: value for key, value in block.items() if key not in ("token", "encryptedToken")}
        return replace(wanted, spec={**wanted.spec, name: {**rest, **({"encryptedToken": sealed} if sealed else {})}})

    def _opens(self, sealed: str | None, place: str) -> str | None:
        """None where there is nothing, or nothing that this key opens: then the token is sealed anew."""
        try:
            return self._box.open(base64.b64decode(sealed), place) if sealed else None
        except (SecretUnreadable, binascii.Error):
            return None
