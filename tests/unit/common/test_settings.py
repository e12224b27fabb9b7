"""Settings from the environment."""

import ast
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest

from dashwright.common.models.quotas import KNOWN_NAMES, TARGETS, Scope, default_name
from dashwright.common.settings import Settings, SettingsError, load, unknown
from dashwright.expressions.engine.limits import Limits

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/settings.md"
MODULE = ROOT / "libs/common/src/dashwright/common/settings.py"
#: Properties with settings that only warn, or that stand in for a missing one.
FALLBACKS = {"trusting": set[str](), "public_address": {"public_url"}}
LIMITS = {limit.name for limit in fields(Limits)} - {"deadline", "memory"}
"""Settings that the expressions service reads by the names of its limits."""


@pytest.fixture(autouse=True)
def _no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_setting_is_documented_with_its_default() -> None:
    """The page names each setting and no other, with the default it has; ``make docs`` writes it."""
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE))
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        default = field.default
        if isinstance(default, bool):
            assert rows[name.upper()] == f"`{str(default).lower()}`"
        elif isinstance(default, int | float) or (isinstance(default, str) and default):
            assert rows[name.upper()] == f"`{default}`"


def attributes(node: ast.AST, *, of: str) -> set[str]:
    """Return the names of the attributes that are read from a name (``settings``) or from an attribute of that name."""
    owners = {of, f"self.{of}", f"self._{of}", f"services.{of}"}
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and ast.unparse(each.value) in owners}


def fields_read(files: Iterable[Path]) -> set[str]:
    """Return the settings that modules read, directly or by a property or method of Settings."""
    (declared,) = [node for node in ast.parse(MODULE.read_text()).body if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    methods = {node.name: attributes(node, of="self") for node in declared.body if isinstance(node, ast.FunctionDef)} | FALLBACKS
    found, waiting = set[str](), set[str]()
    for file in files:
        text = file.read_text()
        waiting |= attributes(ast.parse(text), of="settings")
        waiting |= {"secret_key", "secret_keys_accepted"} if "secret_keys(settings)" in text else set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= methods.get(name, set())
    return found & set(Settings.model_fields)


@pytest.mark.parametrize("service", ["api", "jobs-worker", "expressions"])
def test_every_setting_names_the_services_that_read_it(service: str) -> None:
    """A setting is declared to be read by exactly those services whose code reads it."""
    folder = ROOT / "services" / service / "src"
    shared = ["process.py"] if service == "api" else ["process.py", "worker_process.py"]
    read = fields_read([*folder.rglob("*.py"), *(MODULE.with_name(name) for name in shared)]) | {"secrets_dir"}
    if service == "expressions":
        read |= LIMITS
    declared = set()
    for name, field in Settings.model_fields.items():
        assert isinstance(field.json_schema_extra, dict)
        readers = {reader.strip() for reader in str(field.json_schema_extra["read_by"]).split(",")}
        if readers & {service, "services", "all"}:
            declared.add(name)
    assert read == declared


def test_each_wrong_setting_is_named() -> None:
    """One sentence a wrong setting, each with its name."""
    with pytest.raises(SettingsError) as caught:
        load(http_port=70000, job_slots=0, log_level="loud")
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["DASHWRIGHT_HTTP_PORT", "DASHWRIGHT_LOG_LEVEL", "DASHWRIGHT_JOB_SLOTS"]


def test_the_default_password_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listening beyond loopback with the default password is refused, unless that is meant or the password is another."""
    for host in ("127.0.0.1", "::1", "localhost"):
        load(http_host=host)
    monkeypatch.setenv("DASHWRIGHT_HTTP_HOST", "0.0.0.0")
    with pytest.raises(SettingsError, match="default password"):
        load()
    for weak in ("", "1", "short77", "Password1"):
        with pytest.raises(SettingsError, match="shorter than 8"):
            load(admin_password=weak)
    load(admin_password="another of our own")
    load(allow_default_password=True)


def test_a_key_that_can_be_guessed_is_refused() -> None:
    """The advice says how to make one."""
    with pytest.raises(SettingsError, match=r"SECRET_KEY: shorter than 12 characters.*openssl"):
        load(secret_key="x")


@pytest.mark.parametrize(
    ("name", "value"),
    [("permitted_paths", "/srv:/"), ("trusted_proxies", "0.0.0.0/0"), ("allowed_hosts", "::/0"), ("trusted_hosts", "*")],
)
def test_a_setting_that_trusts_everything_is_named(name: str, value: str) -> None:
    """A start warns of it."""
    assert list(load(**{name: value}).trusting) == [f"DASHWRIGHT_{name.upper()}"]
    assert load().trusting == {}


def test_lists_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are separated by colons, features by commas; an unknown feature is refused with the known ones."""
    monkeypatch.setenv("DASHWRIGHT_PERMITTED_PATHS", "/one:/two")
    monkeypatch.setenv("DASHWRIGHT_FEATURES", "sqlExpression")
    assert load().local_paths == (Path("/one"), Path("/two"))
    assert load().features == {"sqlExpression"}
    with pytest.raises(SettingsError, match="known: sqlExpression"):
        load(features="warp")


def test_a_misspelt_name_is_told_with_the_nearest() -> None:
    """A variable with our prefix that is no setting is named, with the setting that was probably meant."""
    found = unknown({"DASHWRIGHT_HTTP_PROT": "1", "DASHWRIGHT_HTTP_PORT": "1", "DASHWRIGHT_TEST_AMQP_URL": "x", "PATH": "/"})
    assert found == {"DASHWRIGHT_HTTP_PROT": "DASHWRIGHT_HTTP_PORT"}


def test_a_strange_variable_is_not_taken_for_any_setting() -> None:
    """The prefix alone makes no two names alike."""
    assert unknown({"DASHWRIGHT_FOO": "1"}) == {"DASHWRIGHT_FOO": ""}


def test_secrets_are_not_shown() -> None:
    """No password or address with one appears in the settings' text."""
    settings = load(admin_password="hush", database_url="postgresql://u:hush@h/d", amqp_url="amqp://u:hush@h/", secret_key="hush hush hush")
    assert "hush" not in repr(settings)


def test_quota_defaults_are_limits_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name has its own scope and target; any negative is no limit, as is a name that is not given."""
    monkeypatch.setenv("DASHWRIGHT_QUOTA_DEFAULTS", "org_user=10, org_dashboard=0,user_org=3,global_user=-7,global_session=5")
    rules = load().quota_rules
    assert rules.enabled
    assert [rules.default(Scope.ORG, target) for target in ("org_user", "dashboard", "api_key")] == [10, 0, -1]
    assert (rules.default(Scope.USER, "org_user"), rules.default(Scope.GLOBAL, "user"), rules.default(Scope.GLOBAL, "org")) == (3, -1, -1)
    assert not load(quotas_enabled=False).quota_rules.enabled


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("dashboards=5", "unknown quota 'dashboards'; known: org_user, org_dashboard, .*user_org, global_user, "),
        ("org_user", "'org_user' is no limit; write org_user=NUMBER"),
        ("org_user=ten", "is no limit"),
        ("org_user=1.5", "is no limit"),
        ("org_user=9223372036854775808", "is no limit"),
        ("org_user=\u0663", "is no limit"),
        ("org_user=1,org_user=2", "org_user is given twice"),
    ],
)
def test_a_wrong_quota_default_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch, given: str, said: str) -> None:
    """An unknown name is told with the known ones, a limit that is none with the form it must have."""
    monkeypatch.setenv("DASHWRIGHT_QUOTA_DEFAULTS", given)
    with pytest.raises(SettingsError, match=f"DASHWRIGHT_QUOTA_DEFAULTS: .*{said}"):
        load()


def test_every_target_has_a_default_of_its_own() -> None:
    """No two limits share a name in the settings, and each name is known."""
    names = [default_name(scope, target) for scope, targets in TARGETS.items() for target in targets]
    assert len(set(names)) == len(names)
    assert set(names) <= set(KNOWN_NAMES)


def test_trusted_proxies_are_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and networks of both families; anything else is refused with the form it must have."""
    monkeypatch.setenv("DASHWRIGHT_TRUSTED_PROXIES", "10.0.0.0/8, 192.0.2.1,2001:db8::/32")
    assert [str(network) for network in load().trusted_proxies] == ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]
    monkeypatch.setenv("DASHWRIGHT_TRUSTED_PROXIES", "proxy.example")
    with pytest.raises(SettingsError, match=r"DASHWRIGHT_TRUSTED_PROXIES: .*networks like 10\.0\.0\.0/8"):
        load()


def test_an_empty_limit_of_tokens_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set to nothing limits nothing."""
    monkeypatch.setenv("DASHWRIGHT_API_KEY_MAX_SECONDS_TO_LIVE", "")
    monkeypatch.setenv("DASHWRIGHT_TOKEN_EXPIRATION_DAY_LIMIT", "30")
    settings = load()
    assert (settings.api_key_max_seconds_to_live, settings.token_expiration_day_limit) == (None, 30)
