"""Credentials of the clients, as a kubeconfig: a service account's token, and a password."""

import json
from pathlib import Path
from typing import Any, Final

from tests.acceptance.processes import Service
from tests.clients import gateway, service_account

#: Contexts of the kubeconfig; the first is the current one.
TOKEN, PASSWORD = "token", "password"

_CLUSTER: Final = "dashwright"


async def prepare(service: Service, path: Path) -> dict[str, str]:
    """Create a service account with a token; return the environment variables that the clients need."""
    certificate = path / "data" / "tls" / "certificate.pem"
    address = gateway.address(service)
    trusted = path / "certificate.pem"
    trusted.write_bytes(certificate.read_bytes())
    token = await service_account.token(address, trusted)
    file = path / "kubeconfig"
    file.write_text(json.dumps(_kubeconfig(address, trusted, token)))
    return {"KUBECONFIG": str(file), "DASHWRIGHT_TEST_TARGET": address, "DASHWRIGHT_TEST_CERTIFICATE": str(trusted)}


def _kubeconfig(address: str, certificate: Path, token: str) -> dict[str, Any]:
    """Return a kubeconfig with a context for each of the two credentials."""
    users = {TOKEN: {"token": token}, PASSWORD: {"username": "admin", "password": "admin"}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _CLUSTER, "cluster": {"server": address, "certificate-authority": str(certificate)}}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": _CLUSTER, "user": name, "namespace": "default"}} for name in users],
        "current-context": TOKEN,
    }
