"""The file ``.dashboard-lint`` in the root of a repository: it excludes rules, or makes them warnings, everywhere or in some places."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field, ValidationError

from dashwright.common.errors import Invalid, TooLarge
from dashwright.common.models.api_model import ApiModel
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.lint.finding import Finding
from dashwright.jobs_worker.domain.lint.issue import CONFIG_FILE

MAX_CONFIG_BYTES: Final = 256 * 1024
"""Limit on the bytes of the file."""

_KEYS: Final = ("exclusions", "warnings")
_IGNORED_KEYS: Final = ("verbose", "autofix")
"""Keys that dashboard-linter reads in the file and this linter ignores."""

_MAX_REPORTED_KEYS: Final = 5
_MAX_KEY_CHARACTERS: Final = 60
"""Limit on the characters of an unknown key in a message."""


class WaivedPlace(ApiModel):
    """A place in dashboards. Dashboards and panels are named by title, queries by index. A missing member matches everything."""

    dashboard: str | None = None
    panel: str | None = None
    target_idx: int | None = None

    def covers(self, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding in a dashboard of this title is in this place."""
        is_in_panel = self.dashboard in (None, dashboard) and self.panel in (None, finding.panel)
        return is_in_panel and self.target_idx in (None, finding.target)


class Waiver(ApiModel):
    """A waiver of a rule, with its reason."""

    reason: str | None = None
    #: Places where the rule is waived; everywhere if the list is empty. Each finding is compared with each place, so the list is limited.
    entries: Annotated[list[WaivedPlace], Field(max_length=1000)] | None = None

    def covers(self, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding in a dashboard of this title is waived."""
        return not self.entries or any(entry.covers(dashboard, finding) for entry in self.entries)


class Config(ApiModel):
    """The waivers of a repository, by rule."""

    #: Rules that do not apply.
    exclusions: dict[str, Waiver | None] | None = None
    #: Rules that only warn.
    warnings: dict[str, Waiver | None] | None = None

    def excludes(self, rule: str, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is not reported."""
        return _is_waived(self.exclusions or {}, rule, dashboard, finding)

    def only_warns(self, rule: str, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is a warning at most."""
        return _is_waived(self.warnings or {}, rule, dashboard, finding)


def read_config(body: bytes) -> tuple[Config, list[str]]:
    """Return the configuration, and a message for each unknown key, which has no effect.

    Raises Invalid or TooLarge; the message says what to change in the file.
    """
    if len(body) > MAX_CONFIG_BYTES:
        raise TooLarge(f"{CONFIG_FILE} has {len(body)} bytes, at most {MAX_CONFIG_BYTES} are read")
    try:
        tree = read_yaml(body.decode("utf-8-sig"))
        config = Config.model_validate({} if tree is None else tree)
    except UnicodeDecodeError as fault:
        raise Invalid(f"{CONFIG_FILE}: not UTF-8 at byte {fault.start}: save it as UTF-8") from fault
    except Invalid as fault:
        raise Invalid(f"{CONFIG_FILE}: {fault.message}") from fault
    except ValidationError as fault:
        first_error = fault.errors()[0]
        location = ".".join(str(key) for key in first_error["loc"]) or "the file"
        raise Invalid(f"{CONFIG_FILE}: {location}: {first_error['msg']}") from fault
    unknown_keys = [key for key in tree or () if key not in (*_KEYS, *_IGNORED_KEYS)]
    known_keys = f"{', '.join(_KEYS)} (and {', '.join(_IGNORED_KEYS)}, without effect)"
    return config, [
        f"{CONFIG_FILE}: the key {repr(key)[:_MAX_KEY_CHARACTERS]} is unknown and has no effect; there are {known_keys}"
        for key in unknown_keys[:_MAX_REPORTED_KEYS]
    ]


def _is_waived(waivers: Mapping[str, Waiver | None], rule: str, dashboard: str, finding: Finding) -> bool:
    # A rule with the value null, as in ``panel-units-rule:``, is waived everywhere.
    return rule in waivers and (waivers[rule] or Waiver()).covers(dashboard, finding)
