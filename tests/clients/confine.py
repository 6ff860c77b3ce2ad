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
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Sequence, Tuple, Union

Message = Dict[str, Any]
Bytes = Union[str, bytes]

PIECE = 256 * 1024  # One line of standard input, before base64.
WHOLE = 512 * 1024  # What run/start carries of it; more goes through a pipe.


class ConfineError(Exception):
    """What the server refused: `fault` is its one word, `message` the whole of it."""

    def __init__(self, message: Message):
        super().__init__(f"{message['fault']}: cannot {message['text']}")
        self.fault, self.message = message["fault"], message


class Result:
    """How a run ended: the exit code that `confine run` would have, and the report (docs/report.md)."""

    def __init__(self, message: Message):
        self.exit_code, self.report = message["exit_code"], message["report"]


def to_bytes(text: Union[str, Dict[str, str]]) -> bytes:
    """The bytes of a string, or of {"base64": …}."""
    return text.encode() if isinstance(text, str) else base64.b64decode(text["base64"])


def from_bytes(data: Bytes) -> Union[str, Dict[str, str]]:
    """The other way round; paths and arguments with odd bytes in them, too."""
    data = os.fsencode(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return in_base64(data)


def in_base64(data: bytes) -> Dict[str, str]:
    """Bytes whose line is never more than a third longer than they are, whatever they are."""
    return {"base64": base64.b64encode(data).decode()}


class Run:
    """A run under way. Iterate over it for its output until it is over: ("stdout" or "stderr", bytes)."""

    def __init__(self, client: "Confine", name: str):
        self.name, self._client = name, client
        self._output: queue.Queue = queue.Queue()
        self._over = threading.Event()
        self._result: Any = None
        # Of its standard input: what was sent, what the program has taken of that, what the server refused.
        self._news, self._sent, self._taken = threading.Condition(), 0, 0
        self._refused: Optional[ConfineError] = None

    def __iter__(self) -> Iterator[Tuple[str, bytes]]:
        while (output := self._output.get()) is not None:
            yield output
        self._output.put(None)

    def wait(self, timeout: Optional[float] = None) -> Result:
        """The result. Raises ConfineError where the server took no such run, or not all that was written to it, and
        ConnectionError where the server is gone."""
        if not self._over.wait(timeout):
            raise TimeoutError(self.name)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def write(self, data: Bytes, timeout: Optional[float] = None) -> None:
        """More for its standard input, where it was started with stdin="pipe". Returns once all of it is on its way, so
        it waits for a program that reads slowly: call it from anywhere but `notice`. Raises ConfineError where the
        program reads no more, BrokenPipeError where the run is over, ConnectionError where the server is gone, and
        TimeoutError where the program took nothing for so many seconds: it may have closed its input and live on,
        which not every backend can tell."""
        data, most = os.fsencode(data), self._client.welcome["most_stdin"]
        size = min(PIECE, most)
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            with self._news:
                while not self._stopped() and self._sent + len(piece) - self._taken > most:
                    before = self._taken
                    self._news.wait_for(lambda: self._stopped() or self._taken > before, timeout)
                    if not self._stopped() and self._taken == before:
                        raise TimeoutError(f"{self.name} took nothing for {timeout} s")
                if self._stopped():
                    raise self._stopped()
                self._sent += len(piece)
            self._client._say("run/stdin", run=self.name, data=in_base64(piece))

    def end(self) -> None:
        """No more for its standard input."""
        if not self._over.is_set():
            self._client._say("run/stdin", run=self.name, end=True)

    def signal(self, number: int) -> None:
        """To its process group."""
        self._client._say("run/signal", run=self.name, signal=int(number))

    def cancel(self) -> None:
        """Ends it, with every process."""
        self._client._say("run/cancel", run=self.name)

    def _stopped(self) -> Optional[Exception]:
        """Why nothing more can be written, if so."""
        if self._refused or not self._over.is_set():
            return self._refused
        return self._result if isinstance(self._result, Exception) else BrokenPipeError(f"{self.name} is over")

    def _feed(self, data: bytes) -> None:
        """All of its standard input. A program may end without reading it all; what else goes wrong, `wait` raises."""
        try:
            self.write(data)
            self.end()
        except (OSError, ConfineError):
            pass

    def _heard(self, taken: int = 0, refused: Optional[ConfineError] = None) -> None:
        with self._news:
            self._taken, self._refused = max(self._taken, taken), self._refused or refused
            self._news.notify_all()

    def _end(self, result: Union[Result, Exception]) -> None:
        lost = self._refused and self._refused.fault == "stdin-full"
        self._result = self._refused if lost and isinstance(result, Result) else result
        self._output.put(None)
        self._over.set()
        self._heard()


class Confine:
    """A connection: to a server of its own, or to the one at `socket`.

    `ask` is called with each approval/request on a thread of its own, and returns "allow-once", "allow-for-session",
    "allow-always", "reject" or "cancel"; without it nobody is ever asked. `notice` is called, on the reading thread,
    with every message that no call waits for: approval/decided, run/stdin, errors."""

    def __init__(
        self,
        command: Iterable[str] = ("confine", "serve", "--stdio"),
        socket: Optional[str] = None,
        ask: Optional[Callable[[Message], str]] = None,
        notice: Optional[Callable[[Message], None]] = None,
        deadline: Optional[float] = None,
    ):
        self._ask, self._notice = ask, notice or (lambda message: None)
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._waiting: Dict[Tuple[str, Optional[str]], Union[Run, queue.Queue]] = {}
        self._count = 0
        self._error: Optional[ConfineError] = None
        self._gone: Optional[ConnectionError] = None
        self._process = self._socket = None
        if socket is None:
            words = list(command)
            self._server = " ".join(words)
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._reader, self._writer = self._process.stdout, self._process.stdin
        else:
            self._server = socket
            self._socket = sockets.socket(sockets.AF_UNIX)
            self._socket.connect(socket)
            self._reader, self._writer = self._socket.makefile("rb"), self._socket.makefile("wb")
        self.welcome: Message = {"longest_line": 1024 * 1024, "most_stdin": 1024 * 1024}
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        hello = {"version": 1, "client": "confine.py", "approvals": "ask" if ask else "never"}
        try:
            limit = None if deadline is None else int(deadline * 1000)
            self.welcome = {**self.welcome, **self._call("hello", None, **hello, deadline_ms=limit)}
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Confine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        command: Sequence[Bytes],
        cwd: Optional[Bytes] = None,
        stdin: Bytes = "null",
        run: Optional[str] = None,
        **fields: Any,
    ) -> Run:
        """Starts a command. `stdin` is "null", "pipe" or bytes; the other fields are those of run/start: policy,
        settings, workspaces, backend, environment, max_output, turn, sandbox_permissions, justification."""
        new = Run(self, run or self._name("run"))
        words, cwd = [from_bytes(word) for word in command], from_bytes(os.path.abspath(cwd or os.getcwd()))
        given = isinstance(stdin, bytes)
        kind = stdin if not given else "pipe" if len(stdin) > WHOLE else {"data": in_base64(stdin)}
        self._expect("run", new.name, new)
        try:
            self._say("run/start", run=new.name, command=words, cwd=cwd, stdin=kind, **fields)
        except BaseException:
            self._forget("run", new.name)
            raise
        if given and kind == "pipe":
            threading.Thread(target=new._feed, args=(stdin,), daemon=True).start()
        return new

    def question(self, kind: str, **fields: Any) -> Message:
        """Asks `probe`, `plan`, `policy/check`, `policy/show` or `policy/describe`, and waits for the answer."""
        return self._call(kind, "id", id=self._name("question"), **fields)

    def open_turn(self, turn: str) -> Message:
        """From here on runs may name this turn of the model."""
        return self._call("turn/open", "turn", turn=turn)

    def close_turn(self, turn: str) -> Message:
        """What waits in it is refused, what was allowed in it and not used is taken back."""
        return self._call("turn/close", "turn", turn=turn)

    def close(self) -> None:
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

    def _name(self, kind: str) -> str:
        with self._lock:
            self._count += 1
            return f"{kind}-{self._count}"

    def _expect(self, kind: str, name: Optional[str], one: Union[Run, queue.Queue]) -> None:
        with self._lock:
            if (kind, name) in self._waiting:
                raise ValueError(f"{kind} {name} is under way")
            self._waiting[kind, name] = one

    def _forget(self, kind: str, name: Optional[str]) -> Any:
        with self._lock:
            return self._waiting.pop((kind, name), None)

    def _say(self, kind: str, **fields: Any) -> None:
        message = {"kind": kind, **{key: value for key, value in fields.items() if value is not None}}
        line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        if len(line) > self.welcome["longest_line"]:
            raise ValueError(f"{kind} makes a line of {len(line)} bytes, which {self._server} does not take")
        try:
            with self._writing:
                if not self._gone:
                    self._writer.write(line)
                    self._writer.flush()
        except (OSError, ValueError) as error:
            if threading.current_thread() is not self._thread:
                self._thread.join(1)  # Why it is gone may be on its way.
            self._lose(f"cannot write to it: {error}", error)
        if self._gone:
            raise self._gone

    def _call(self, kind: str, key: Optional[str], **fields: Any) -> Message:
        box: queue.Queue = queue.Queue()
        self._expect(kind, fields.get(key), box)
        try:
            self._say(kind, **fields)
        except BaseException:
            self._forget(kind, fields.get(key))
            raise
        answer = box.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _read(self) -> None:
        line = b""
        try:
            for line in self._reader:
                self._take(json.loads(line))
            self._lose("it ended")
        except Exception as error:
            self._lose(f"cannot take {line[:200]!r}: {error!r}", error)

    def _lose(self, reason: str, cause: Optional[Exception] = None) -> None:
        """One error for everybody who waits and who comes later, and the end of a server that did not end by itself."""
        with self._lock:
            first, waiting, self._waiting = not self._gone, self._waiting, {}
            if first:
                last = f"; its last error was {self._error}" if self._error else ""
                self._gone = ConnectionError(f"{self._server} is gone: {reason}{last}")
                self._gone.__cause__ = self._error or cause
        for one in waiting.values():
            one._end(self._gone) if isinstance(one, Run) else one.put(self._gone)
        try:
            if first and cause:
                self._process.kill() if self._process else self._socket.shutdown(sockets.SHUT_RDWR)
        except OSError:
            pass  # It is gone.

    def _take(self, message: Message) -> None:
        kind, failed = message["kind"], None
        of = kind
        if kind == "error":
            of, failed = message.get("of") or "hello", ConfineError(message)
            self._error = failed
        run = self._waiting.get(("run", message.get("run")))
        if kind == "approval/request" and self._ask:
            threading.Thread(target=self._answer, args=(message["approval"], message), daemon=True).start()
        elif kind == "run/output":
            output = message["stream"], to_bytes(message["data"])
            if run:
                run._output.put(output)
        elif kind == "run/result" or (failed and of == "run/start"):
            name, result = message["run"], failed or Result(message)
            if run:
                self._forget("run", name)
                run._end(result)
        else:
            if of == "run/stdin" and run:
                run._heard(0 if failed else message["taken"], failed)
            box = self._forget(of, message.get("turn") if of.startswith("turn/") else message.get("id"))
            if box:
                box.put(failed or message)
            elif failed and of == "hello":
                raise failed  # It could not read a line, so somebody would wait for ever.
            else:
                self._notice(message)

    def _answer(self, name: str, approval: Message) -> None:
        """Where `ask` fails the answer is no, at once; its error goes to threading.excepthook."""
        try:
            self._say("approval/answer", approval=name, answer=self._ask(approval))
        except BaseException as error:
            if error is self._gone:
                return  # Nobody is there any more, so nothing was allowed.
            if not self._gone:
                self._say("approval/cancel", approval=name)
            raise
