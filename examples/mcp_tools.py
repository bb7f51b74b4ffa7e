"""Use the tools of an MCP server as a plugin. The first argument is the server's command or URL.

Without one, this toolkit serves its own science plugin over MCP and is its own client.
"""

from __future__ import annotations

import sys

from toolkit.plugins.from_mcp import connect, mcp_plugin
from toolkit.plugins.toolbox import load_toolbox

OURS = f"{sys.executable} -c 'from experiments.cli import main; main()' plugin mcp-serve science"

if __name__ == "__main__":
    connection = connect(sys.argv[1] if len(sys.argv) > 1 else OURS, seconds=60.0)
    plugin = mcp_plugin(connection)
    for name, api in plugin.manifest.apis.items():
        print(f"{name}: {api.examples[0][1]}")
    if "MATH" in plugin.manifest.apis:
        print(load_toolbox([plugin]).run("MATH", "12 * 34").text)
    connection.close()
