"""Receive notifications of repositories and batches on http://127.0.0.1:8400/, and print those with a valid signature.

python receive.py whsec_…
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(sys.argv[1])
seen_ids: set[str] = set()  # in a real receiver: a unique column of the table that the event is stored in


class Receiver(BaseHTTPRequestHandler):
    """Receiver of signed events."""

    def do_POST(self) -> None:
        """Handle one event, or refuse it if its signature is not valid."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            # Compares the signature, and refuses requests that are more than five minutes old.
            webhook.verify(body.decode(), {name.lower(): value for name, value in self.headers.items()})
        except WebhookVerificationError as error:
            print("refused:", error, flush=True)
            self.send_response(401)
        else:
            self.handle_event(json.loads(body))
            self.send_response(204)
        self.end_headers()

    def handle_event(self, event: dict) -> None:
        """Print an event, unless it was received before."""
        if event["id"] in seen_ids:  # each event is sent at least once
            return
        seen_ids.add(event["id"])
        data = event["data"]
        result = data.get("status", data)  # the result of a batch is in its status
        details = [result[member] for member in ("counts", "files", "message") if member in result]
        print(event["type"], event["subject"], result["state"], *details[:1], flush=True)


HTTPServer(("127.0.0.1", 8400), Receiver).serve_forever()
