"""What the emulators of Google's and Azure's storage lack.

    emulated.py tokens PORT       the metadata server of a machine of Google's: a token for whoever asks as it should be
    emulated.py container URL KEY NAME make a container in Azurite
"""
import base64
import datetime
import hashlib
import hmac
import http.server
import json
import sys
import urllib.parse
import urllib.request


class Tokens(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ours = self.headers["Metadata-Flavor"] == "Google" and "/service-accounts/default/token" in self.path
        self.send_response(200 if ours else 404)
        self.send_header("Metadata-Flavor", "Google")
        self.end_headers()
        if ours:
            self.wfile.write(json.dumps({"access_token": "not-a-secret", "expires_in": 3599, "token_type": "Bearer"}).encode())


def container(account_url, key, name):
    path = urllib.parse.urlparse(account_url).path
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": now, "x-ms-version": "2021-08-06"}
    signed = "PUT" + "\n" * 12 + "".join(f"{k}:{v}\n" for k, v in headers.items()) + f"{path}{path}/{name}\nrestype:container"
    signature = base64.b64encode(hmac.new(base64.b64decode(key), signed.encode(), hashlib.sha256).digest()).decode()
    headers["Authorization"] = f"SharedKey {path[1:]}:{signature}"
    urllib.request.urlopen(urllib.request.Request(f"{account_url}/{name}?restype=container", method="PUT", headers=headers)).close()


if sys.argv[1] == "tokens":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Tokens).serve_forever()
container(*sys.argv[2:])
