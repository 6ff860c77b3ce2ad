"""Ten commands at once: their output as it comes, one of them cancelled, one that asks; then the reports.

    python3 ten.py CONFINE WORKSPACE OUTSIDE
"""

import sys
import threading

from confine import Confine

confine, workspace, outside = sys.argv[1:]
decided = []


def ask(approval):
    print(*approval["text"], sep="\n")
    return "allow-once"


def notice(message):
    if message["kind"] == "approval/decided":
        decided.append(message["outcome"]["kind"])


def stream(run, seen):
    for name, data in run:
        seen[run.name] = seen.get(run.name, b"") + data


with Confine([confine, "serve", "--stdio"], ask=ask, notice=notice) as client:
    runs = [client.start(["sh", "-c", f"echo begin {n}; cat; echo end {n}"], cwd=workspace, stdin="pipe") for n in range(8)]
    runs.append(client.start(["sh", "-c", "echo begin; sleep 600"], cwd=workspace))
    runs.append(client.start(["sh", "-c", f"echo yes > {outside}/granted"], cwd=workspace))
    seen = {}
    threads = [threading.Thread(target=stream, args=(run, seen)) for run in runs]
    for thread in threads:
        thread.start()
    for n, run in enumerate(runs[:8]):
        run.write(f"middle {n}\n")
        run.end()
    asked = runs[9].wait(60)
    runs[8].cancel()
    for thread in threads:
        thread.join(60)
    results = [run.wait(60) for run in runs]

for n, run in enumerate(runs[:8]):
    assert seen[run.name].decode() == f"begin {n}\nmiddle {n}\nend {n}\n", seen
assert [result.report["verdict"] for result in results] == ["passed"] * 8 + ["cancelled", "passed"], results
assert results[8].exit_code != 0
first, second = asked.report["attempts"]
assert (first["verdict"], second["verdict"], decided) == ("denied", "passed", ["allowed-once"]), (first, second, decided)
assert open(f"{outside}/granted").read() == "yes\n"
print("ten commands, one cancelled, one allowed once:", second["grant"])
