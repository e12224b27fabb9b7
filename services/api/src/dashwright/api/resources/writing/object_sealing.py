"""Sealing of the secrets of objects before they are stored."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.resources.writing.receiver_sealing import ReceiverSecretSealer
from dashwright.api.resources.writing.sealing import TokenSealer
from dashwright.api.resources.writing.webhook_sealing import WebhookSecretSealer
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import BATCH, REPOSITORY
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores.resources import StoredObject


class _Sealer(Protocol):
    """A sealer of secrets of one kind."""

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject: ...


class ObjectSealer:
    """A sealer of the secrets of all kinds."""

    def __init__(self, cipher: SecretCipher) -> None:
        self._sealers: Mapping[Kind, Sequence[_Sealer]] = {
            REPOSITORY: (ReceiverSecretSealer(cipher), TokenSealer(cipher)),
            BATCH: (WebhookSecretSealer(cipher),),
        }

    def seal(self, desired: DesiredObject, namespace: str, current: StoredObject | None) -> DesiredObject:
        """Return the desired object with its secrets sealed. ``current`` is the stored object. Raises Invalid for a faulty secret."""
        for sealer in self._sealers.get(desired.kind, ()):
            desired = sealer.seal(desired, namespace, current)
        return desired
