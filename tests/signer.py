"""The signer of services that run with the SECRET_KEY of tests."""

from dashwright.common.messaging.signing import Signer

SECRET_KEY = "of tests only"
SIGNER = Signer(SECRET_KEY)
