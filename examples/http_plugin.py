"""Use a plugin over HTTP: serve one here on a free port, load its manifest by its address, and make calls.

`--allow-host` of the commands is `private_hosts` here: addresses that are not public must be allowed by name.
"""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request

import uvicorn

from toolkit.plugins.manifest import validate
from toolkit.plugins.science import plugin
from toolkit.plugins.serve import make_app
from toolkit.plugins.toolbox import load_toolbox
from toolkit.tools.http import HttpSettings

if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = uvicorn.Server(uvicorn.Config(make_app(plugin, url), port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    with urllib.request.urlopen(f"{url}/manifest.json") as answer:
        manifest = validate(json.load(answer), url)
    allowed = HttpSettings(private_hosts=frozenset({"127.0.0.1"}))
    toolbox = load_toolbox([manifest], settings={manifest.name: allowed})
    for name, arguments in [("MATH", "12 * 34"), ("MATH", "1 / 0"), ("SEARCH", "earth population")]:
        outcome = toolbox.run(name, arguments)
        print(f"{name}({arguments}) {outcome.status}: {outcome.text}")
    server.should_exit = True
