"""Secrets at rest: reading them needs the key and the owner, and errors do not contain the secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.secrets import SecretCipher, SecretUnreadable

CIPHER = SecretCipher.from_keys("a key")
OWNER = "org/1/data-source/x/password"
#: The secret ``hunter22`` of the owner, sealed with the key of the cipher.
SEALED_BY_VERSION_1 = "011ca371bb2004b1fafae54ea1f63c036673ecd191872116a09e9e156b11d974e5f87134109347ffa1"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(TEXTS, TEXTS)
def test_a_sealed_secret_is_opened_by_its_owner(text: str, owner: str) -> None:
    """Any cipher with the same SECRET_KEY opens a secret for its owner. Equal secrets have different ciphertexts."""
    sealed = CIPHER.encrypt(text, owner)
    assert SecretCipher.from_keys("a key").decrypt(sealed, owner) == text
    assert CIPHER.encrypt(text, owner) != sealed
    # A very short text may occur in the sealed one by chance.
    if len(text.encode()) >= 8:
        assert text.encode() not in sealed


def test_a_sealed_text_opens_for_its_owner_only() -> None:
    """A secret that was moved to another data source, organization or name is refused. The error has neither the secret nor its name."""
    sealed = CIPHER.encrypt("hunter22", OWNER)
    for owner in ("org/1/data-source/y/password", "org/2/data-source/x/password", "org/1/data-source/x/token", ""):
        with pytest.raises(SecretUnreadable, match="belongs to something else") as refusal:
            CIPHER.decrypt(sealed, owner)
        assert "hunter22" not in refusal.value.message
        assert "password" not in refusal.value.message


def test_a_wrong_key_has_an_error_of_its_own() -> None:
    """The error for a secret that was sealed with another key names the setting for that key."""
    cipher = SecretCipher.from_keys("another key")
    assert cipher.header != CIPHER.header
    with pytest.raises(SecretUnreadable, match="another DASHWRIGHT_SECRET_KEY; put that key into DASHWRIGHT_SECRET_KEYS_ACCEPTED"):
        cipher.decrypt(CIPHER.encrypt("x", OWNER), OWNER)


def test_secrets_are_opened_with_every_accepted_key_and_sealed_with_the_first() -> None:
    """While a key is rotated, a cipher opens secrets of the old and the new key, and seals secrets with the new key."""
    cipher_of_both_keys = SecretCipher.from_keys("another key", "a key")
    assert cipher_of_both_keys.decrypt(CIPHER.encrypt("x", OWNER), OWNER) == "x"
    assert SecretCipher.from_keys("another key").decrypt(cipher_of_both_keys.encrypt("x", OWNER), OWNER) == "x"


@given(st.data())
def test_a_changed_bit_is_detected(data: st.DataObject) -> None:
    """A change anywhere in a sealed secret is detected."""
    sealed = bytearray(CIPHER.encrypt("hunter22", OWNER))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SecretUnreadable):
        CIPHER.decrypt(bytes(sealed), OWNER)


@pytest.mark.parametrize(
    "sealed",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x01", id="the version alone"),
        pytest.param(b"\x02" + CIPHER.encrypt("x", OWNER)[1:], id="another version"),
        pytest.param(CIPHER.header, id="the header alone"),
        pytest.param(CIPHER.encrypt("x", OWNER)[:32], id="cut short"),
        pytest.param(b"plain text, " * 9, id="plain text"),
    ],
)
def test_an_invalid_ciphertext_is_rejected(sealed: bytes) -> None:
    """A ciphertext is rejected if it is truncated, or not a ciphertext, or of an unknown version."""
    with pytest.raises(SecretUnreadable, match="a form that this version does not know"):
        CIPHER.decrypt(sealed, OWNER)


def test_the_form_is_the_documented_one() -> None:
    """Secrets sealed by earlier versions can be opened: version 1, key id, nonce, AES-256-GCM."""
    sealed = bytes.fromhex(SEALED_BY_VERSION_1)
    assert CIPHER.decrypt(sealed, OWNER) == "hunter22"
    assert sealed[:1] == b"\x01"
    # Version and key id.
    assert len(CIPHER.header) == 1 + 4
    # Version, key id, nonce, the eight bytes of the secret, and the authentication tag.
    assert len(sealed) == 1 + 4 + 12 + 8 + 16
