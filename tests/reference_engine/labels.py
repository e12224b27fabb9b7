"""Labels: their text, their comparison and their fingerprints."""

from typing import Final

from tests.reference_engine.values import Labels

# The parameters of FNV with 64 bits.
_FNV_OFFSET: Final = 14695981039346656037
_FNV_PRIME: Final = 1099511628211


def labels_text(labels: Labels) -> str:
    """Return the labels as text, sorted by key: ``{a=1, b=2}``."""
    return "{" + ", ".join(f"{key}={value}" for key, value in sorted(labels.items())) + "}"


def contains(larger: Labels, smaller: Labels) -> bool:
    """Return whether one set of labels contains another one: equal keys with equal values. Case matters."""
    return all(larger.get(key) == value for key, value in smaller.items())


def fingerprint(labels: Labels) -> int:
    """Return the FNV-1 hash of 64 bits (multiply, then xor) over key, 0xFF, value, 0xFF of the labels, sorted by key."""
    hash_value = _FNV_OFFSET
    for key, value in sorted(labels.items()):
        for byte in key.encode() + b"\xff" + value.encode() + b"\xff":
            hash_value = hash_value * _FNV_PRIME % 2**64 ^ byte
    return hash_value
