"""Nonces: each is stored until its end, and their number is limited."""

from dashwright.common.messaging.signing import NonceCache


def test_a_nonce_is_new_once_until_its_end() -> None:
    """A nonce is refused a second time until its end. After that it may be forgotten, because its message is then too old."""
    cache = NonceCache()
    assert cache.add("a", now=0, expires_at=10)
    assert cache.add("b", now=0, expires_at=5)
    assert not cache.add("a", now=10, expires_at=20)
    assert cache.add("b", now=6, expires_at=20)


def test_a_full_cache_refuses_new_nonces() -> None:
    """A full cache refuses a new nonce until a stored nonce ends. If it forgot a nonce early, a copy of its message would be accepted."""
    cache = NonceCache(limit=2)
    assert cache.add("a", now=0, expires_at=10)
    assert cache.add("b", now=0, expires_at=20)
    assert not cache.add("c", now=0, expires_at=30)
    assert not cache.add("a", now=9, expires_at=40)
    # The first nonce has ended.
    assert cache.add("c", now=11, expires_at=30)
