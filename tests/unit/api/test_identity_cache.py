"""The identity cache: how long identities are cached, and what discards them."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.common.clock import Clock
from dashwright.common.identity import CallerType, Identity, Role


class ManualClock(Clock):
    """A clock that a test sets, for both ``monotonic`` and Unix time."""

    def __init__(self) -> None:
        self.instant = 1000.0

    def seconds(self) -> float:
        return self.instant

    def __call__(self) -> float:
        return self.instant


def user(number: int, org_id: int = 1) -> Identity:
    """Return a user by id."""
    return Identity(uid=f"user:{number}", login=f"u{number}", org_id=org_id, role=Role.VIEWER, user_id=number)


def token(number: int, account: int, *, expires_at: int | None = None) -> Identity:
    """Return the identity of a token, by its key id and the id of its service account."""
    return Identity(
        uid=f"service-account:{account}",
        login="sa",
        org_id=1,
        role=Role.VIEWER,
        user_id=account,
        kind=CallerType.SERVICE_ACCOUNT,
        key_id=number,
        expires_at=expires_at,
    )


@pytest.fixture
def time() -> ManualClock:
    """Return a clock at 1000 seconds."""
    return ManualClock()


@pytest.fixture
def identities(time: ManualClock) -> IdentityCache:
    """Return a cache that listens for notifications, for three identities and five seconds."""
    started = IdentityCache(time, size=3, ttl_seconds=5, monotonic=time)
    started.resume()
    return started


def cache(identities: IdentityCache, name: bytes, identity: Identity) -> None:
    """Cache an identity that was looked up after the last invalidation."""
    identities.put(name, identity, epoch=identities.epoch)


def test_an_identity_is_cached_for_seconds(identities: IdentityCache, time: ManualClock) -> None:
    """An identity expires after five seconds, even if it is used."""
    cache(identities, b"a", user(1))
    assert identities.get(b"a") is not None
    time.instant = 1004.9
    assert identities.get(b"a") is not None
    time.instant = 1005
    assert identities.get(b"a") is None
    assert len(identities) == 0


def test_a_key_that_expires_while_cached_is_refused(identities: IdentityCache, time: ManualClock) -> None:
    """A key is removed from the cache in the second of its expiry, so that the next look-up returns the reason."""
    cache(identities, b"a", token(1, 2, expires_at=1002))
    time.instant = 1001.9
    assert identities.get(b"a") is not None
    time.instant = 1002
    assert identities.get(b"a") is None


@pytest.mark.parametrize(
    ("subject", "remaining"),
    [
        ("user:1", {b"token", b"other", b"org"}),
        ("user:7", {b"user", b"other", b"org"}),
        ("key:3", {b"user", b"other", b"org"}),
        ("org:2", {b"user", b"token", b"other"}),
        ("org:1", {b"org"}),
        # Subjects without an identity, which resemble user 1.
        ("key:1", {b"user", b"token", b"other", b"org"}),
        ("user:11", {b"user", b"token", b"other", b"org"}),
        ("all", set()),
    ],
)
def test_invalidating_a_subject_drops_its_identities(time: ManualClock, subject: str, remaining: set[bytes]) -> None:
    """Invalidating a user, key or organization drops its identities and no others. A user may be a service account."""
    identities = IdentityCache(time)
    identities.resume()
    cached_identities = {b"user": user(1), b"token": token(3, account=7), b"other": user(2), b"org": user(5, org_id=2)}
    for name, identity in cached_identities.items():
        cache(identities, name, identity)
    identities.invalidate(subject)
    assert {name for name in cached_identities if identities.get(name)} == remaining


def test_a_lookup_from_before_an_invalidation_is_not_cached(identities: IdentityCache) -> None:
    """The result of a lookup that began before an invalidation is not cached, because it may be outdated.

    The start of notifications is an invalidation, too.
    """
    for invalidate in (partial(identities.invalidate, "user:9"), identities.invalidate_all, identities.resume):
        epoch = identities.epoch
        invalidate()
        identities.put(b"a", user(1), epoch=epoch)
        assert identities.get(b"a") is None


def test_nothing_is_cached_without_notifications(time: ManualClock) -> None:
    """Nothing is cached before the cache listens for notifications, or after it was suspended. Resuming discards earlier values."""
    identities = IdentityCache(time)
    cache(identities, b"a", user(1))
    assert identities.get(b"a") is None
    identities.resume()
    cache(identities, b"a", user(1))
    assert identities.get(b"a") is not None
    identities.suspend()
    assert identities.get(b"a") is None
    cache(identities, b"b", user(1))
    assert identities.last_known(b"b") is None
    identities.resume()
    assert identities.get(b"a") is None
    assert identities.last_known(b"a") is None


def test_cached_identities_are_available_after_listening_ends(identities: IdentityCache, time: ManualClock) -> None:
    """The last known identities are available while the cache is suspended, until they expire.

    An invalidation or a new lookup discards them.
    """
    for number, name in enumerate((b"a", b"b", b"c"), start=1):
        cache(identities, name, user(number))
    identities.suspend()
    assert identities.last_known(b"a") is not None
    identities.invalidate("user:2")
    assert identities.last_known(b"b") is None
    cache(identities, b"c", user(3))
    assert identities.last_known(b"c") is None
    time.instant = 1005
    assert identities.last_known(b"a") is None


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 5), st.integers(1, 4)),
            st.tuples(st.just("invalidate"), st.sampled_from(["user:1", "user:2", "user:3", "org:1", "key:1"]), st.just(0)),
            st.tuples(st.just("wait"), st.integers(0, 4), st.just(0)),
        ),
        max_size=40,
    )
)
def test_the_index_of_subjects_is_that_of_the_entries(steps: list[tuple[str, int | str, int]]) -> None:
    """The index of subjects has exactly the stored entries. Invalidated entries are removed, and the size is limited.

    The second member of a step is the digest of a credential, a subject or a number of seconds; the third is the id of a user.
    """
    time = ManualClock()
    identities = IdentityCache(time, size=3, ttl_seconds=5, monotonic=time)
    identities.resume()
    for operation, argument, number in steps:
        if operation == "put":
            cache(identities, str(argument).encode(), user(number))
        elif operation == "invalidate":
            identities.invalidate(str(argument))
            # All users are in organization 1.
            assert not any(f"user:{entry.identity.user_id}" == argument or argument == "org:1" for entry in identities._entries.values())
        else:
            time.instant += int(argument)
        assert len(identities) <= 3
        indexed = {(subject, name) for subject, names in identities._digests_by_subject.items() for name in names}
        assert indexed == {(subject, name) for name, entry in identities._entries.items() for subject in entry.subjects}
