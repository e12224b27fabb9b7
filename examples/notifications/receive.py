"""Receive notifications of repositories and batches on http://127.0.0.1:8400/, and print those with a valid signature.

python receive.py whsec_…
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(sys.argv[1])
# A real receiver stores the ids, for example in a unique column of its table of events.
seen_ids: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    """Receiver of signed events."""

    def do_POST(self) -> None:
        """Handle an event, or refuse it if its signature is invalid."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            # Requests that are more than five minutes old are refused, too.
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
        # An event can be delivered more than once.
        if event["id"] in seen_ids:
            return
        seen_ids.add(event["id"])
        data = event["data"]
        # The result of a batch is in its status.
        result = data.get("status", data)
        # The counts of a batch, or the number of files or the error of a repository.
        details = [result[member] for member in ("counts", "files", "message") if member in result]
        print(event["type"], event["subject"], result["state"], *details[:1], flush=True)


HTTPServer(("127.0.0.1", 8400), Receiver).serve_forever()
