"""Hysteresis of thresholds: the items that were firing before, and the condition by which they stop firing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.predicates import Predicate
from dashwright.expressions.engine.values import Floats, Mask

_FNV_BASIS = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_64_BITS = (1 << 64) - 1
#: Follows every key and value. UTF-8 has no such byte, so different label sets have different bytes.
_END = b"\xff"


def fingerprint(labels: Labels) -> int:
    """Return the FNV-1 hash (64 bits) over the labels sorted by key, as Grafana's alert rules store it."""
    # FNV-1, not FNV-1a: Grafana multiplies before it mixes the byte in. Stored fingerprints depend on this order.
    hash_value = _FNV_BASIS
    for byte in b"".join(text.encode() + _END for key_and_value in labels.pairs for text in key_and_value):
        hash_value = (hash_value * _FNV_PRIME & _64_BITS) ^ byte
    return hash_value


#: The declared type of a frame of fingerprints, and the newest version of it that can be read.
_FRAME_TYPE = "fingerprints"
_NEWEST_VERSION = (1, 0)


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """The condition by which a firing item recovers, and the items that were firing before."""

    unload_condition: Predicate  #: A firing item stops firing if this condition holds for its value.
    loaded_fingerprints: frozenset[int]  #: The fingerprints of the items that were firing before. Grafana calls these items loaded.

    def is_loaded(self, labels: Sequence[Labels], deadline: Deadline) -> Mask:
        """Return a mask of the label sets whose items were firing before. Raises DeadlineExceeded."""
        is_loaded = np.zeros(len(labels), np.bool_)
        if not self.loaded_fingerprints:
            return is_loaded
        for position, label_set in enumerate(labels):
            deadline.check()
            is_loaded[position] = fingerprint(label_set) in self.loaded_fingerprints
        return is_loaded

    def keeps_firing(self, values: Floats) -> Mask:
        """Return a mask of the values at which a loaded item keeps firing.

        An item keeps firing at NaN, because a gap must not resolve an alert.
        """
        mask: Mask = np.logical_not(self.unload_condition.holds(values))
        return mask


def fingerprints_of(frame: Frame) -> frozenset[int]:
    """Return the fingerprints in a frame. Raises BadRequest if it is not a frame of fingerprints."""
    meta = frame.meta or {}
    version = tuple(meta.get("typeVersion") or (0, 0))
    if meta.get("type") != _FRAME_TYPE:
        raise _invalid(f"expected meta.type {_FRAME_TYPE}, got {str(meta.get('type'))[:40]}")
    if version > _NEWEST_VERSION:
        raise _invalid(f"meta.typeVersion {list(version)} is newer than {list(_NEWEST_VERSION)}")
    if len(frame.fields) != 1:
        raise _invalid(f"expected a single field but got {len(frame.fields)}")
    field = frame.fields[0]
    if field.type is not FieldType.UINT64 or field.nullable:
        raise _invalid(f"the field type must be uint64 and not nullable, got {field.type}{' nullable' if field.nullable else ''}")
    return frozenset(field.values.tolist())


def _invalid(reason: str) -> BadRequest:
    return BadRequest(f"invalid format of loaded dimensions frame: {reason}")
