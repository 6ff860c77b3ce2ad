"""A client of `confine serve`, version 1, in one file: copy it. Python 3.9 or later, standard library only.

    with Confine(ask=lambda approval: "reject") as confine:
        result = confine.start(["cargo", "test"], cwd="/work").wait()
        print(result.exit_code, result.report["verdict"])

docs/serve.md says what the messages mean. Everything here may be called from any thread.
"""

import base64
import json
import os
import queue
import socket as sockets
import subprocess
import threading


class ConfineError(Exception):
    """What the server refused: `fault` is its one word, `message` the whole of it."""

    def __init__(self, message):
        super().__init__(f"{message['fault']}: cannot {message['text']}")
        self.fault, self.message = message["fault"], message


class Result:
    """How a run ended: the exit code that `confine run` would have, and the report (docs/report.md)."""

    def __init__(self, message):
        self.exit_code, self.report = message["exit_code"], message["report"]


def to_bytes(text):
    """The bytes of a string, or of {"base64": …}."""
    return text.encode() if isinstance(text, str) else base64.b64decode(text["base64"])


def from_bytes(data):
    """The other way round; paths and arguments with odd bytes in them, too."""
    data = data if isinstance(data, bytes) else os.fsencode(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


class Run:
    """A run under way. Iterate over it for its output until it is over: ("stdout" or "stderr", bytes)."""

    def __init__(self, client, name):
        self.name, self._client = name, client
        self._output, self._result, self._over = queue.Queue(), None, threading.Event()

    def __iter__(self):
        while (message := self._output.get()) is not None:
            yield message["stream"], to_bytes(message["data"])
        self._output.put(None)

    def wait(self, timeout=None):
        """The result. Raises ConfineError where the server took no such run, ConnectionError where it is gone."""
        if not self._over.wait(timeout):
            raise TimeoutError(self.name)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def write(self, data):
        """More for its standard input, where it was started with stdin="pipe"."""
        self._client._say("run/stdin", run=self.name, data=from_bytes(data))

    def end(self):
        """No more for its standard input."""
        self._client._say("run/stdin", run=self.name, end=True)

    def signal(self, number):
        """To its process group."""
        self._client._say("run/signal", run=self.name, signal=int(number))

    def cancel(self):
        """Ends it, with every process."""
        self._client._say("run/cancel", run=self.name)

    def _end(self, result):
        self._result = result
        self._output.put(None)
        self._over.set()


class Confine:
    """A connection: to a server of its own, or to the one at `socket`.

    `ask` is called with each approval/request on a thread of its own, and returns "allow-once", "allow-for-session",
    "allow-always", "reject" or "cancel"; without it nobody is ever asked. `notice` is called, on the reading thread,
    with every message that no call waits for: approval/decided, run/stdin, errors."""

    def __init__(self, command=("confine", "serve", "--stdio"), socket=None, ask=None, notice=None, deadline=None):
        self._ask, self._notice = ask, notice or (lambda message: None)
        self._lock, self._waiting, self._count, self._gone = threading.Lock(), {}, 0, None
        self._process = self._socket = None
        if socket is None:
            self._process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._reader, self._writer = self._process.stdout, self._process.stdin
        else:
            self._socket = sockets.socket(sockets.AF_UNIX)
            self._socket.connect(socket)
            self._reader, self._writer = self._socket.makefile("rb"), self._socket.makefile("wb")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        approvals, limit = "ask" if ask else "never", None if deadline is None else int(deadline * 1000)
        self.welcome = self._call("hello", None, version=1, client="confine.py", approvals=approvals, deadline_ms=limit)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self, command, cwd=None, stdin="null", run=None, **fields):
        """Starts a command. `stdin` is "null", "pipe" or bytes; the other fields are those of run/start: policy,
        settings, workspaces, backend, environment, max_output, turn, sandbox_permissions, justification."""
        run = Run(self, run or self._name("run"))
        with self._lock:
            if ("run", run.name) in self._waiting:
                raise ValueError(f"a run {run.name} is under way")
            self._waiting["run", run.name] = run
        stdin = stdin if isinstance(stdin, str) else {"data": from_bytes(stdin)}
        words, cwd = [from_bytes(word) for word in command], from_bytes(os.path.abspath(cwd or os.getcwd()))
        self._say("run/start", run=run.name, command=words, cwd=cwd, stdin=stdin, **fields)
        return run

    def question(self, kind, **fields):
        """Asks `probe`, `plan`, `policy/check`, `policy/show` or `policy/describe`, and waits for the answer."""
        return self._call(kind, "id", id=self._name("question"), **fields)

    def open_turn(self, turn):
        """From here on runs may name this turn of the model."""
        return self._call("turn/open", "turn", turn=turn)

    def close_turn(self, turn):
        """What waits in it is refused, what was allowed in it and not used is taken back."""
        return self._call("turn/close", "turn", turn=turn)

    def close(self):
        """Ends the connection, and with it every run."""
        try:
            self._writer.close() if self._process else self._socket.shutdown(sockets.SHUT_WR)
        except OSError:
            pass
        self._thread.join()
        if self._process:
            self._process.wait()
        else:
            self._writer.close()
            self._socket.close()
        self._reader.close()

    def _name(self, kind):
        with self._lock:
            self._count += 1
            return f"{kind}-{self._count}"

    def _say(self, kind, **fields):
        message = {"kind": kind, **{key: value for key, value in fields.items() if value is not None}}
        with self._lock:
            if self._gone:
                raise self._gone
            self._writer.write(json.dumps(message).encode() + b"\n")
            self._writer.flush()

    def _call(self, kind, key, **fields):
        box = queue.Queue()
        with self._lock:
            self._waiting[kind, fields.get(key)] = box
        self._say(kind, **fields)
        answer = box.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _read(self):
        gone = ConnectionError("confine serve is gone")
        try:
            for line in self._reader:
                self._take(json.loads(line))
        except (OSError, ValueError) as error:
            gone = error
        with self._lock:
            self._gone, waiting, self._waiting = gone, self._waiting, {}
        for one in waiting.values():
            one._end(gone) if isinstance(one, Run) else one.put(gone)

    def _take(self, message):
        kind = message["kind"]
        if kind == "approval/request":
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        elif kind == "run/output":
            self._waiting["run", message["run"]]._output.put(message)
        elif kind == "run/result":
            self._forget("run", message["run"])._end(Result(message))
        elif kind == "error" and ("run", message.get("run")) in self._waiting and message["of"] == "run/start":
            self._forget("run", message["run"])._end(ConfineError(message))
        else:
            failed = kind == "error"
            of = message.get("of", "hello") if failed else kind
            key = message.get("turn") if of.startswith("turn/") else message.get("id")
            box = self._forget(of, key)
            if box:
                box.put(ConfineError(message) if failed else message)
            else:
                self._notice(message)

    def _forget(self, kind, name):
        with self._lock:
            return self._waiting.pop((kind, name), None)

    def _answer(self, approval):
        answer = self._ask(approval)
        try:
            self._say("approval/answer", approval=approval["approval"], answer=answer)
        except (OSError, ValueError):
            pass  # Nobody is there any more, so nothing was allowed.
