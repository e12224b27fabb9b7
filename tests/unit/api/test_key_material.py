"""Formats of keys and tokens: parsing, rejection, and the stored hashes."""

import base64
import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.auth.key_material import (
    MAX_CREDENTIAL_LENGTH,
    LegacyKeyMaterial,
    TokenMaterial,
    checksum,
    hash_secret,
    is_secret_hash,
    new_token,
    parse,
)

# The example of a key in Grafana's documentation.
DOCUMENTED_KEY = "eyJrIjoiVjFxTHZ6dGdPSjg5Um92MjN1RlhjMkNqYkZUbm9jYkwiLCJuIjoiZ3JhZmFuYSIsImlkIjoxfQ=="


def legacy_key(**members: object) -> str:
    """Return a legacy key: its secret ``k``, name ``n`` and organization ``id``, as JSON in base64."""
    return base64.b64encode(orjson.dumps(members)).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            DOCUMENTED_KEY,
            "02e7a8a565078bba0ec230a99921aca74bfcdd06d6e3202ee3bd4e8ffd1542dc3c79ce1aad9150792240bd4487bb87fa24ad",
            id="documented key",
        ),
        pytest.param(
            legacy_key(k="A" * 32, n="ci key", id=7),
            "d8b8726c18aabf89f70f71865bb8d2efa6a5d8cbdc33ccb67ac075f5ab4ad15187b267d3194ea8f33eff5c110ac758989a05",
            id="legacy key",
        ),
        pytest.param(
            "glsa_yscW25imSKJIuav8zF37RZmnbiDvB05G_fcaaf58a",
            "26cd2524985150529dc5f32109f544860512b999766e11bc8f3d5711bf0ba6e7020099f9f21538b5df94d577782f7431dd27",
            id="documented token",
        ),
        pytest.param(
            "glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f248",
            "cefc8c1727f206b0f8c72ced8dbde0c5941c7eecf3dcc7dc6935585cf6ea8939b5e2a3427aadf2ed10bae20bce16573f8bab",
            id="token",
        ),
    ],
)
def test_known_credentials_have_their_known_hashes(text: str, expected: str) -> None:
    """The stored hash of a credential equals the one in existing databases of Grafana."""
    material = parse(text)
    assert material is not None
    assert hash_secret(material.secret, material.salt) == expected
    assert is_secret_hash(expected)


def test_an_imported_password_has_the_same_hash_function() -> None:
    """The hash of an imported password is computed like that of a key, from the password and the salt of the user's row."""
    assert hash_secret("admin", "abcdefghij") == (
        "038aae4bee0c5bdeba9de5c2cc26c00841abca898620785f9a1e6f50903b117682a810c00a1cfc02d2b432b7d660956a65af"
    )


def test_a_legacy_key_names_its_organization_and_itself() -> None:
    """A legacy key has its organization and its name, which is the salt and identifies the row."""
    assert parse(DOCUMENTED_KEY) == LegacyKeyMaterial("V1qLvztgOJ89Rov23uFXc2CjbFTnocbL", "grafana", 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("***", id="not base64"),
        pytest.param("invalid", id="base64 of no text"),
        pytest.param("bm90IGpzb24=", id="not JSON"),
        pytest.param(DOCUMENTED_KEY.rstrip("="), id="no padding"),
        pytest.param(DOCUMENTED_KEY[:10] + "\n" + DOCUMENTED_KEY[10:], id="line break"),
        pytest.param(DOCUMENTED_KEY[:10] + " " + DOCUMENTED_KEY[10:], id="space"),
        pytest.param(legacy_key(k="a", n="b"), id="no organization"),
        pytest.param(legacy_key(k="", n="b", id=1), id="empty secret"),
        pytest.param(legacy_key(k="a", n="", id=1), id="empty name"),
        pytest.param(legacy_key(k="a", n="b\0", id=1), id="NUL in the name"),
        pytest.param(legacy_key(k="a\0", n="b", id=1), id="NUL in the secret"),
        pytest.param(legacy_key(k=1, n="b", id=1), id="secret is a number"),
        pytest.param(legacy_key(k="a", n=None, id=1), id="name is null"),
        pytest.param(legacy_key(k="a", n="b", id=True), id="organization is true"),
        pytest.param(legacy_key(k="a", n="b", id=1.0), id="organization is a fraction"),
        pytest.param(legacy_key(k="a", n="b", id="1"), id="organization is a string"),
        pytest.param(legacy_key(k="a", n="b", id=2**63), id="organization is too large"),
        pytest.param(base64.b64encode(b'{"k":"a","n":"\xff","id":1}').decode(), id="not UTF-8"),
        pytest.param(base64.b64encode(b'{"k":"a","n":"\\ud800","id":1}').decode(), id="surrogate"),
        pytest.param(base64.b64encode(b"[" * 700).decode(), id="deep JSON"),
        pytest.param(base64.b64encode(b"[1]").decode(), id="not an object"),
        pytest.param(legacy_key(k="a" * MAX_CREDENTIAL_LENGTH, n="b", id=1), id="too long"),
        pytest.param("glsa_9244xlVFZK0j8Lh4fU8Cz6Z5tO664zIi_7a762939", id="wrong checksum"),
        pytest.param("glsa_yscW25imSKJIuav8zF37RZmnbiDvB05G_FCAAF58A", id="checksum in capitals"),
        pytest.param("glsa_yscW25imSKJIuav8zF37RZmnbiDvB05G", id="no checksum"),
        pytest.param("glsa_yscW25imSKJIuav8zF37RZmnbiDvB05G_fcaaf58a_", id="text after the checksum"),
        pytest.param("glsb_yscW25imSKJIuav8zF37RZmnbiDvB05G_fcaaf58a", id="wrong prefix"),
        pytest.param("gl", id="start of a prefix"),
        pytest.param(f"glsa__{checksum('')}", id="token without secret"),
        pytest.param(f"glsa_ü_{checksum('ü')}", id="token not in ASCII"),
        pytest.param(f"glsa_a\0_{checksum(chr(97) + chr(0))}", id="token with NUL"),
        pytest.param("glsa_\udc80_00000000", id="token not in UTF-8"),
        pytest.param("\udcff", id="text not in UTF-8"),
    ],
)
def test_other_strings_are_not_credentials(text: str) -> None:
    """The result for a string that cannot be a credential is None, so that it causes neither a hash nor a lookup."""
    assert parse(text) is None


def test_a_new_token_is_valid_and_unique() -> None:
    """A new token has 32 letters and digits and a valid checksum, and all new tokens differ."""
    tokens = {new_token() for _ in range(200)}
    assert len(tokens) == 200
    for text in tokens:
        assert re.fullmatch(r"glsa_[0-9A-Za-z]{32}_[0-9a-f]{8}", text)
        secret, token_checksum = text.split("_")[1:]
        assert parse(text) == TokenMaterial(secret, token_checksum)


@given(st.one_of(st.text(max_size=80), st.binary(max_size=80).map(lambda raw: base64.b64encode(raw).decode())))
def test_parsing_never_fails(text: str) -> None:
    """Any string of a client is a credential with secret and salt, or None, without an error."""
    # Some strings start like a token.
    for credential in (text, "gl" + text, "glsa_" + text):
        material = parse(credential)
        assert material is None or (material.secret and material.salt)


@given(
    secret=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40),
    name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40),
    org_id=st.integers(-(2**63), 2**63 - 1),
)
def test_every_legacy_key_is_read_back(secret: str, name: str, org_id: int) -> None:
    """Every legacy key is read back. Its name may be any text without NUL."""
    assert parse(legacy_key(k=secret, n=name, id=org_id)) == LegacyKeyMaterial(secret, name, org_id)
