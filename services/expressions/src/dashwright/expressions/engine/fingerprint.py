"""The identity of a label set across requests: FNV-1 with 64 bits, as the platform's rules store it."""

from dashwright.expressions.engine.labels import Labels

_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_BITS = (1 << 64) - 1
_END = b"\xff"
"""Stands behind every key and value; UTF-8 has no such byte."""


def fingerprint(labels: Labels) -> int:
    """Over the labels sorted by key; without labels it is the algorithm's basis. Not FNV-1a: multiplied first, then mixed."""
    value = _BASIS
    for byte in b"".join(part.encode() + _END for pair in labels.pairs for part in pair):
        value = (value * _PRIME & _BITS) ^ byte
    return value
