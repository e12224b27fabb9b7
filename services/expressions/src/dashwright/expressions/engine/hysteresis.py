"""Hysteresis of thresholds: which items were firing before, and what keeps them firing."""

from dataclasses import dataclass

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.predicates import Predicate
from dashwright.expressions.engine.values import Floats, Mask

_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_BITS = (1 << 64) - 1
#: Written after every key and value; UTF-8 has no such byte, so no two label sets have the same bytes.
_END = b"\xff"


def fingerprint(labels: Labels) -> int:
    """Return the FNV-1 hash (64 bits) over the labels sorted by key, as Grafana's alert rules store it."""
    # FNV-1, not FNV-1a: Grafana multiplies before it mixes the byte in. Stored fingerprints depend on this order.
    value = _BASIS
    for byte in b"".join(part.encode() + _END for pair in labels.pairs for part in pair):
        value = (value * _PRIME & _BITS) ^ byte
    return value


_FRAME_TYPE = "fingerprints"
_NEWEST_VERSION = (1, 0)


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """The recovery threshold of an alert rule."""

    unload: Predicate  #: Where it holds, a firing item stops.
    loaded: frozenset[int]  #: Fingerprints of the items that were firing.

    def loaded_among(self, labels: tuple[Labels, ...], deadline: Deadline) -> Mask:
        """Return a mask of the label sets that are loaded."""
        found = np.zeros(len(labels), np.bool_)
        for position, item in enumerate(labels) if self.loaded else ():
            deadline.check()
            found[position] = fingerprint(item) in self.loaded
        return found

    def holds_on(self, values: Floats) -> Mask:
        """Return where a loaded item keeps firing.

        NaN keeps firing, because no bound holds for it: a gap must not resolve an alert.
        """
        mask: Mask = np.logical_not(self.unload.holds(values))
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


def _invalid(what: str) -> BadRequest:
    return BadRequest(f"invalid format of loaded dimensions frame: {what}")
