"""What goes wrong, and how it shows: much input for a late reader, servers that talk garbage, an `ask` that fails.

    python3 trouble.py CONFINE WORKSPACE OUTSIDE
"""

import sys
import threading
import time

from confine import Confine, ConfineError

confine, workspace, outside = sys.argv[1:]
serve = [confine, "serve", "--stdio"]
much = bytes(range(256)) * 12 * 1024  # 3 MiB, of which no line is UTF-8.
HELLO = '{"kind": "hello", "version": 1}'
GARBAGE = {
    "plain text": "Segmentation fault",
    "a list": "[]",
    "a number": "3",
    "no kind": "{}",
    "not UTF-8": "\\0377",
    "output of no run": '{"kind": "run/output"}',
    "output of a list": '{"kind": "run/output", "run": [], "stream": "stdout", "data": ""}',
    "output without data": '{"kind": "run/output", "run": "run-1"}',
    "a result without a run": '{"kind": "run/result"}',
    "a result without a report": '{"kind": "run/result", "run": "run-1", "exit_code": 0}',
    "a number taken that is none": '{"kind": "run/stdin", "run": "run-1", "taken": "much"}',
    "an approval without a name": '{"kind": "approval/request"}',
    "an error without a word": '{"kind": "error", "of": "run/start", "run": "run-1"}',
    "an error of nothing": '{"kind": "error", "fault": "malformed", "text": "read this", "of": null}',
}


def within(seconds, call, *words):
    """What `call` returns or raises, in time."""
    answer = []

    def run():
        try:
            answer.append(call(*words))
        except Exception as error:
            answer.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert answer, f"{call} {words} takes more than {seconds} s"
    if isinstance(answer[0], AssertionError):
        raise answer[0]
    return answer[0]


def much_is_written(client):
    """Both runs at once: one that is written to, one that gets all of it with its start."""
    script = ["sh", "-c", "sleep 1; cksum"]
    written = client.start(script, cwd=workspace, stdin="pipe")
    given = client.start(script, cwd=workspace, stdin=much)
    written.write(much)
    written.end()
    expected = b"".join(data for _, data in client.start(["cksum"], cwd=workspace, stdin=much[: 512 * 1024]))
    assert expected.split()[1] == b"524288", expected
    sums = [b"".join(data for _, data in run) for run in (written, given)]
    assert [run.wait().report["verdict"] for run in (written, given)] == ["passed", "passed"]
    assert sums[0] == sums[1] and int(sums[0].split()[1]) == len(much), sums
    return "whole"


def early_end(client):
    """Nobody reads it any more: the writer hears of it, and who gave it with the start need not."""
    written = client.start(["true"], cwd=workspace, stdin="pipe")
    try:
        written.write(much)
    except (BrokenPipeError, ConfineError) as error:
        written.end()
        assert client.start(["true"], cwd=workspace, stdin=much).wait().exit_code == written.wait().exit_code == 0
        return error
    return "nothing was raised"


def deaf(client, backend, losses):
    """It closed its input and lives: where the backend tells, the writer hears of it, and elsewhere it waits no longer than it says."""
    settings = {"version": 1, "enforcement": {"accept-missing": losses}}
    # It lives until it is told to end.
    run = client.start(["sh", "-c", "exec <&-; sleep 60"], workspace, "pipe", backend=backend, settings=settings)
    error = within(10, run.write, much, 0.5)
    run.cancel()
    assert run.wait().report["backend"] == backend, run.wait().report
    return error


def long_line(client):
    """It is not sent, so the connection lives."""
    error = within(1, client.start, ["echo", "a" * 1024 * 1024], workspace)
    assert isinstance(error, ValueError) and client.start(["true"], workspace).wait().exit_code == 0, error
    return "kept"


def garbage(line, script):
    """The error of everything that waits when a server says `line`."""
    server = ["sh", "-c", script, "server", line]
    try:
        client = Confine(server, ask=lambda approval: "reject")
        run = client.start(["true"])
        errors = [within(1, run.wait), within(1, client.question, "probe"), within(1, run.write, "more")]
        within(1, client.close)
    except ConnectionError as error:
        errors = [error]
    assert all(isinstance(error, ConnectionError) and "server" in str(error) for error in errors), errors
    return str(errors[0])


def lost_input():
    """A server that lost input, and calls the run passed."""
    lost = '{"kind": "error", "of": "run/stdin", "run": "run-1", "fault": "stdin-full", "text": "take it"}'
    result = '{"kind": "run/result", "run": "run-1", "exit_code": 0, "report": {"verdict": "passed"}}'
    with Confine(["sh", "-c", welcomed + "cat > /dev/null", "server", lost + "\\n" + result]) as client:
        error = within(1, client.start(["cat"], stdin="pipe").wait)
    assert isinstance(error, ConfineError) and error.fault == "stdin-full", error
    return error


def failing_ask():
    """It is over at once, not at the deadline; what `ask` raised is not lost."""

    def ask(approval):
        raise LookupError("nobody knows")

    raised = []
    threading.excepthook = lambda failure: raised.append(failure.exc_type)
    with Confine(serve, ask=ask) as client:
        result = within(10, client.start(["sh", "-c", f"echo no > {outside}/no"], cwd=workspace).wait)
        assert result.report["verdict"] == "denied" and result.report["refusal"], result.report
    assert raised == [LookupError], raised
    return result.report["refusal"]


with Confine(serve) as client:
    print("much input:", within(30, much_is_written, client))
    print("an early end:", repr(within(10, early_end, client)))
    error = within(10, deaf, client, "bwrap", [])
    assert isinstance(error, TimeoutError), error
    losses = ["fs-hide", "fs-metadata", "fs-carve-out", "fs-carve-out-new", "fs-device", "fd-stdio", "net-unix-path",
              "net-unix-path-new", "proc-see", "proc-sysctl", "ipc-sysv"]
    error = within(10, deaf, client, "landlock", losses)
    assert isinstance(error, ConfineError) and error.fault == "stdin-closed", error
    print("a deaf program:", repr(error))
    print("a long line:", within(10, long_line, client))
welcomed = f"read -r hello; echo '{HELLO}'; read -r start; printf '%b\\n' \"$1\"; "
print("no welcome:", within(2, garbage, "Segmentation fault", "read -r hello; echo \"$1\"; exec sleep 60"))
for name, line in GARBAGE.items():
    print(f"{name}:", within(4, garbage, line, welcomed + "exec sleep 60"))
ignored = ['{"kind": "surprise"}', '{"kind": "run/output", "run": "?", "stream": "stdout", "data": ""}',
           '{"kind": "run/result", "run": "?", "exit_code": 0, "report": {}}']
ended = within(4, garbage, "\\n".join(ignored), welcomed)
assert "it ended" in ended, ended
refused = within(4, garbage, '{"kind": "error", "fault": "too-long", "text": "take it", "of": "plan"}', welcomed)
assert "too-long" in refused, refused
print("lost input:", lost_input())
print("an ask that fails:", failing_ask())
print("trouble is told")
