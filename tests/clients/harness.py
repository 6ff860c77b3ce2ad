"""A harness in forty lines: a command is confined, denied, asked about, allowed once, and run again.

    python3 harness.py CONFINE BACKEND WORKSPACE OUTSIDE      with bwrap or landlock as the BACKEND
"""

import sys

from confine import Confine

confine, backend, workspace, outside = sys.argv[1:]
# What Landlock alone does not enforce, and this harness goes without there; bwrap enforces it all the same.
LOSSES = ["fs-hide", "fs-metadata", "fs-carve-out", "fs-carve-out-new", "fs-device", "fd-stdio", "net-unix-path",
          "net-unix-path-new", "proc-see", "proc-sysctl", "ipc-sysv"]
SETTINGS = {"version": 1, "enforcement": {"accept-missing": LOSSES}}


def ask(approval):
    """A person's place. Show the text as it comes; whatever is not an answer is a no."""
    print(*approval["text"], sep="\n")
    return "allow-once"


def tool(client, command):
    """What the model calls: one command of a shell. It is told the output, and how it ended."""
    run = client.start(["sh", "-c", command], cwd=workspace, backend=backend, settings=SETTINGS)
    output = b"".join(data for _, data in run)
    return run.wait(), output.decode(errors="replace")


with Confine([confine, "serve", "--stdio"], ask=ask) as client:
    result, output = tool(client, "echo inside > inside && cat inside")
    assert result.exit_code == 0 and output == "inside\n", output
    result, output = tool(client, f"echo once > {outside}/once")
    assert result.exit_code == 0 and result.report["backend"] == backend, output
    assert [attempt["verdict"] for attempt in result.report["attempts"]] == ["denied", "passed"]
print(f"{backend}: denied, asked, allowed once, run again")
