"""A program that looks from outside as `label-studio start` does, and starts at once.

Written to a file by `write_program`, with its behaviour fixed in its text, because the manager hands
the server no environment but its own.
"""

import stat
import sys
from pathlib import Path

PROGRAM = """\
#!{python}
import json, os, socket, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

BEHAVIOUR = {behaviour!r}
port = int(sys.argv[sys.argv.index("--port") + 1])
print("environment", json.dumps(dict(os.environ)), flush=True)
print("arguments", json.dumps(sys.argv), flush=True)
if BEHAVIOUR == "fails":
    sys.exit("django.db.utils.OperationalError: disk I/O error")
with socket.socket() as held:  # while it waits, so that nobody else takes the port
    while BEHAVIOUR == "slow" and not os.path.exists(sys.argv[0] + ".go"):
        if not held.getsockname()[1]:
            held.bind(("127.0.0.1", port))
        time.sleep(0.02)
with socket.socket() as probe:  # as the real one does, unasked
    if probe.connect_ex(("127.0.0.1", port)) == 0:
        port += 1
if BEHAVIOUR == "stubborn":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
token = os.environ["LABEL_STUDIO_USER_TOKEN"]
answers = {{
    "/api/version": {{"release": "1.23.2"}},
    "/api/current-user/whoami": {{"email": os.environ["LABEL_STUDIO_USERNAME"]}},
}}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        allowed = BEHAVIOUR != "refuses" and self.headers.get("Authorization") == f"Token {{token}}"
        status = 401 if "user" in self.path and not allowed else 200
        body = json.dumps(answers[self.path] if status == 200 else {{"detail": "Invalid token."}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    server_bind = TCPServer.server_bind  # which does not ask for the machine's name


Server(("127.0.0.1", port), Handler).serve_forever()
"""


def write_program(folder: Path, behaviour: str = "good") -> Path:
    """Write the program; `behaviour` names what is wrong with it. A slow one waits for a file PROGRAM.go."""
    path = folder / f"label-studio-{behaviour}"
    text = PROGRAM.format(python=sys.executable, behaviour=behaviour)
    if not path.is_file() or path.read_text() != text:  # one that is being started cannot be written
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
