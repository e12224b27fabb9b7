"""Headers of a signed webhook request, as in the specification Standard Webhooks 1.0."""

import base64
import hmac
from collections.abc import Mapping


def signed_headers(key: bytes, message_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Return the headers with id, time and signature of a request. ``timestamp`` is in Unix seconds."""
    signature = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }
