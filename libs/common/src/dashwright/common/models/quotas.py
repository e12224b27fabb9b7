"""Targets of quotas, and their default limits in the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

UNLIMITED: Final = -1
MAX_LIMIT: Final = 2**63 - 1


class Scope(StrEnum):
    """Owner of a quota: the installation, an organization or a user."""

    GLOBAL = "global"
    ORG = "org"
    USER = "user"


#: Targets of an organization, in the order in which they are shown.
ORG_TARGETS: Final = ("org_user", "dashboard", "data_source", "api_key", "alert_rule")

#: Targets of a user. ``org_user``: the organizations that the user is a member of.
USER_TARGETS: Final = ("org_user",)

#: Targets of the installation, limited by settings only.
GLOBAL_TARGETS: Final = ("user", "org", "dashboard", "data_source", "api_key", "alert_rule")

TARGETS: Final[Mapping[Scope, tuple[str, ...]]] = MappingProxyType(
    {Scope.GLOBAL: GLOBAL_TARGETS, Scope.ORG: ORG_TARGETS, Scope.USER: USER_TARGETS}
)

#: Names of defaults that do not consist of scope and target. The names are Grafana's.
_IRREGULAR_NAMES: Final = {(Scope.ORG, "org_user"): "org_user", (Scope.USER, "org_user"): "user_org"}
_NAMES_WITHOUT_EFFECT: Final = ("global_session", "global_file", "global_correlations")

#: Names of defaults, without the global ones.
DEFAULT_NAMES: Final = (*(f"org_{target}" if target != "org_user" else target for target in ORG_TARGETS), "user_org")

#: All names of defaults. ``global_session``, ``global_file`` and ``global_correlations`` are accepted without effect.
KNOWN_NAMES: Final = (*DEFAULT_NAMES, *(f"global_{target}" for target in GLOBAL_TARGETS), *_NAMES_WITHOUT_EFFECT)


def default_name(scope: Scope, target: str) -> str:
    """Return the name of a target's default in the settings, such as ``org_dashboard`` or ``user_org``."""
    return _IRREGULAR_NAMES.get((scope, target), f"{scope}_{target}")


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """Quotas of the settings: whether they are enabled, and the default limits. A target without a limit is unlimited."""

    enabled: bool = True
    defaults: Mapping[str, int] = field(default_factory=dict)

    def default(self, scope: Scope, target: str) -> int:
        """Return the default limit of a target, or -1 if it is unlimited."""
        return self.defaults.get(default_name(scope, target), UNLIMITED)


def read_defaults(value: str) -> dict[str, int]:
    """Return the default limits in a setting such as ``org_user=10,org_dashboard=100``. A negative limit means unlimited.

    Raises ValueError if the value is invalid.
    """
    defaults: dict[str, int] = {}
    for assignment in filter(None, (item.strip() for item in value.split(","))):
        name, equals, limit = (item.strip() for item in assignment.partition("="))
        if name not in KNOWN_NAMES:
            raise ValueError(f"unknown quota {name!r}; known: {', '.join(KNOWN_NAMES)}")
        if name in defaults:
            raise ValueError(f"{name} is given twice; give one limit")
        if not equals or not limit.removeprefix("-").isdecimal() or not limit.isascii() or abs(int(limit)) > MAX_LIMIT:
            raise ValueError(f"{assignment!r} is not a limit; write {name}=NUMBER, with -1 for none")
        defaults[name] = max(int(limit), UNLIMITED)
    return defaults
