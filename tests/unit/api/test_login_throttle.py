"""The login throttle: which logins and addresses are blocked after failures, and for how long."""

from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.auth.login_throttle import LoginThrottle


class ManualClock:
    """A monotonic clock that a test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def record_failures(throttle: LoginThrottle, login: str, address: str, times: int = 1) -> None:
    """Record several failures of a login from an address."""
    for _ in range(times):
        throttle.record_failure(login, address)


def test_a_login_is_throttled_per_address() -> None:
    """After five failures, a login is blocked at the address of the failures only, in upper or lower case.

    Other logins from the same address are accepted.
    """
    throttle = LoginThrottle(max_failures=5)
    record_failures(throttle, "Ann", "10.0.0.1", 4)
    assert not throttle.is_blocked("ann", "10.0.0.1")
    record_failures(throttle, "ANN", "10.0.0.1")
    assert throttle.is_blocked("ann", "10.0.0.1")
    assert not throttle.is_blocked("ann", "10.0.0.2")
    assert not throttle.is_blocked("bob", "10.0.0.1")


def test_the_window_begins_with_the_first_failure() -> None:
    """The window begins with the first failure, and later failures do not extend it."""
    time = ManualClock()
    throttle = LoginThrottle(max_failures=2, window_seconds=300, monotonic=time)
    record_failures(throttle, "ann", "a")
    time.now = 299
    record_failures(throttle, "ann", "a", 5)
    assert throttle.is_blocked("ann", "a")
    time.now = 300
    assert not throttle.is_blocked("ann", "a")
    assert not throttle.is_suspect("a")


def test_an_address_that_tries_many_logins_is_refused_for_all() -> None:
    """An address is blocked for all logins after ten times the failures of a login. Other addresses are not affected."""
    throttle = LoginThrottle(max_failures=5)
    for index in range(49):
        record_failures(throttle, f"u{index}", "10.0.0.1")
    assert not throttle.is_blocked("ann", "10.0.0.1")
    record_failures(throttle, "u49", "10.0.0.1")
    assert throttle.is_blocked("ann", "10.0.0.1")
    assert throttle.is_address_blocked("10.0.0.1")
    assert not throttle.is_blocked("ann", "10.0.0.2")


def test_a_success_clears_its_own_count_only() -> None:
    """A success clears the failures of its own login only, so that guesses at other logins remain counted."""
    throttle = LoginThrottle(max_failures=2)
    for login in ("ann", "bob"):
        record_failures(throttle, login, "a", 2)
    throttle.record_success("bob", "a")
    assert not throttle.is_blocked("bob", "a")
    assert throttle.is_blocked("ann", "a")
    assert throttle.is_suspect("a")


def test_an_unknown_address_counts_by_login_only() -> None:
    """The empty address is never blocked as a whole, because all callers behind a queue or a proxy may have it.

    Each login from it is limited.
    """
    throttle = LoginThrottle(max_failures=2)
    for index in range(100):
        record_failures(throttle, f"u{index}", "")
    assert not throttle.is_blocked("ann", "")
    assert not throttle.is_address_blocked("")
    record_failures(throttle, "ann", "", 2)
    assert throttle.is_blocked("ann", "")


def test_an_ipv6_client_is_its_network() -> None:
    """A client with IPv6 is counted by its network of 64 bits, and an IPv4-mapped address as its IPv4 address.

    A text that is not an address is counted as it is.
    """
    throttle = LoginThrottle(max_failures=1)
    record_failures(throttle, "ann", "2001:db8::1")
    assert throttle.is_blocked("ann", "2001:db8::ffff:0:1%eth0")
    assert not throttle.is_blocked("ann", "2001:db8:0:1::1")
    record_failures(throttle, "bob", "::ffff:10.0.0.1")
    assert throttle.is_blocked("bob", "10.0.0.1")
    assert not throttle.is_blocked("bob", "::ffff:10.0.0.2")
    record_failures(throttle, "cat", "no:address")
    assert throttle.is_blocked("cat", "no:address")


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3)), max_size=60))
def test_counts_are_bounded_and_never_too_high(steps: list[tuple[str, int]]) -> None:
    """A login is blocked only after three failures in ten seconds, and the throttle stores at most three windows.

    A step is a failure of a login, some seconds after the previous one.
    """
    time = ManualClock()
    throttle = LoginThrottle(max_failures=3, window_seconds=10, size=3, monotonic=time)
    failures: list[tuple[str, float]] = []
    for login, wait in steps:
        time.now += wait
        throttle.record_failure(login, "a")
        failures.append((login, time.now))
        assert len(throttle._login_windows._windows) <= 3
        recent = [when for client, when in failures if client == login and when > time.now - 10]
        # All failures are from one address, and a blocked address blocks every login.
        if throttle.is_blocked(login, "a"):
            assert len(recent) >= 3 or throttle.is_address_blocked("a")
