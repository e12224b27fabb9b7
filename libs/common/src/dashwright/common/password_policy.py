"""Rules for weak passwords: they cannot be set, and do not give access if other machines can reach the server."""

from dataclasses import dataclass
from typing import Final

#: Maximum number of bytes. A longer password would only make hashing slower.
MAX_PASSWORD_BYTES: Final = 1024

_SPACE_SEPARATED_PASSWORDS: Final = (
    "00000000 11111111 123123123 12341234 12345678 123456789 1234567890 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 87654321 "
    "987654321 99999999 aa123456 abc12345 abcd1234 abcdefg1 abcdefgh admin123 admin1234 admin12345 adminadmin "
    "administrator asdfasdf asdfghjk asdfghjkl baseball basketball changeit changeme changeme1 dashwright default1 "
    "dragon123 football grafana1 grafana123 iloveyou iloveyou1 letmein1 letmein123 liverpool manager1 michael1 "
    "monkey123 p@ssw0rd p@ssword pa55word pass1234 passw0rd passw0rd1 passwd123 password password! password1 "
    "password12 password123 password1234 princess princess1 q1w2e3r4 qazwsxedc qwer1234 qwerty12 qwerty123 "
    "qwerty1234 qwertyui qwertyuiop rootroot secret123 starwars sunshine sunshine1 superman test1234 testtest "
    "trustno1 welcome1 welcome123 welcome1234 whatever zaq12wsx zxcvbnm1 zxcvbnm123 "
)
#: Passwords of eight characters and more that attackers try first.
_COMMON_PASSWORDS: Final = frozenset(_SPACE_SEPARATED_PASSWORDS.split())


@dataclass(frozen=True, slots=True)
class PasswordPolicy:
    """Minimum requirements of a password: at least ``min_length`` characters, and not easy to guess."""

    min_length: int

    def is_short(self, password: str) -> bool:
        """Return whether a password has too few characters."""
        return len(password) < self.min_length

    def is_common(self, password: str, *names: str) -> bool:
        """Return whether a password is widely used, repeats one character, or is one of the ``names`` of its account."""
        folded = password.casefold()
        return folded in _COMMON_PASSWORDS or len(set(folded)) == 1 or folded in {name.casefold() for name in names}

    def is_weak(self, password: str, *names: str) -> bool:
        """Return whether a password is too short or too common."""
        return self.is_short(password) or self.is_common(password, *names)
