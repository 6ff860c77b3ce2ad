/**
 * A client of `confine serve`, version 1, in one file: copy it. Node 18 or later, its standard library only.
 *
 *     const confine = await Confine.connect({ ask: async () => "reject" });
 *     const result = await confine.start(["cargo", "test"], { cwd: "/work" }).result;
 *     console.log(result.exitCode, result.report.verdict);
 *     await confine.close();
 *
 * docs/serve.md says what the messages mean.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";

/** Bytes: a string where they are UTF-8. */
export type Text = string | { base64: string };
export type Message = { kind: string; [field: string]: any };
export type Answer = "allow-once" | "allow-for-session" | "allow-always" | "reject" | "cancel";
export type Result = { exitCode: number; report: any };
export type Output = { stream: "stdout" | "stderr"; data: Buffer };

/** The fields of `run/start`, less its name and its command. */
export type Start = {
  cwd?: string;
  stdin?: "null" | "pipe" | Uint8Array;
  policy?: string;
  settings?: object;
  workspaces?: string[];
  backend?: string;
  environment?: Record<string, Text>;
  max_output?: number;
  turn?: string;
  sandbox_permissions?: object;
  justification?: string;
};

export type Options = {
  /** What serves: without it, `confine serve --stdio`. */
  command?: string[];
  /** The socket of a server, in the place of one of our own. */
  socket?: string;
  /** Answers an approval/request; without it nobody is ever asked. */
  ask?: (approval: Message) => Promise<Answer>;
  /** Gets every message that no call waits for: approval/decided, run/stdin, errors. */
  notice?: (message: Message) => void;
  /** How long an approval waits for its answer, in milliseconds. */
  deadline?: number;
};

const PIECE = 256 * 1024; // One line of standard input, before base64.
const WHOLE = 512 * 1024; // What run/start carries of it; more goes through a pipe.

/** What the server refused: `fault` is its one word. */
export class ConfineError extends Error {
  readonly fault: string;

  constructor(readonly reply: Message) {
    super(`${reply.fault}: cannot ${reply.text}`);
    this.fault = reply.fault;
  }
}

export function toBytes(text: Text): Buffer {
  return typeof text === "string" ? Buffer.from(text) : Buffer.from(text.base64, "base64");
}

export function fromBytes(data: Uint8Array): Text {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return inBase64(data);
  }
}

/** Bytes whose line is never more than a third longer than they are, whatever they are. */
function inBase64(data: Uint8Array): Text {
  return { base64: Buffer.from(data).toString("base64") };
}

/** A field that has to be there. */
function field(message: Message, name: string, type: "string" | "number" | "object"): any {
  const value = message[name];
  if (typeof value !== type || value === null) throw new TypeError(`\`${name}\` is no ${type}`);
  return value;
}

type Waiting = { resolve: (message: Message) => void; reject: (error: Error) => void };

/** A run under way. Iterate over it for its output until it is over; `result` is how it ended. */
export class Run implements AsyncIterable<Output> {
  readonly result: Promise<Result>;
  private readonly chunks: Output[] = [];
  private wake = () => {};
  private over = false;
  private settle!: Waiting;
  // Of its standard input: what was sent, what the program has taken of that, what came to naught.
  private sent = 0;
  private taken = 0;
  private stopped?: Error;
  private room = () => {};
  private written = Promise.resolve();

  constructor(private readonly client: Confine, readonly name: string) {
    const ended = new Promise<Message>((resolve, reject) => (this.settle = { resolve, reject }));
    this.result = ended.then((message) => ({ exitCode: message.exit_code, report: message.report }));
    this.result.catch(() => {}); // Whoever awaits it gets the error; nobody has to.
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Output> {
    for (;;) {
      const next = this.chunks.shift();
      if (next) yield next;
      else if (this.over) return;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  /**
   * More for its standard input, where it was started with `stdin: "pipe"`. Resolves once all of it is on its way: it
   * waits for a program that reads slowly. Rejects where the program reads no more, or the run or the server is gone, and
   * where the program took nothing for `timeout` milliseconds: it may have closed its input and live on, which not every
   * backend can tell.
   */
  write(data: Uint8Array | string, timeout?: number): Promise<void> {
    return this.inTurn(() => this.pour(Buffer.from(data as Uint8Array), timeout));
  }

  /** No more for its standard input, after what was written. */
  end(): Promise<void> {
    return this.inTurn(async () => {
      if (!this.over) this.client.say("run/stdin", { run: this.name, end: true });
    });
  }

  /** To its process group. */
  signal(signal: number): void {
    this.client.say("run/signal", { run: this.name, signal });
  }

  /** Ends it, with every process. */
  cancel(): void {
    this.client.say("run/cancel", { run: this.name });
  }

  /** For the client: output. */
  take(output: Output): void {
    this.chunks.push(output);
    this.wake();
  }

  /** For the client: what became of standard input. */
  heard(taken: number, refused?: ConfineError): void {
    this.taken = Math.max(this.taken, taken);
    this.stopped ??= refused;
    this.room();
  }

  /** For the client: the end. */
  finish(end: Message | Error): void {
    const lost = this.stopped instanceof ConfineError && this.stopped.fault === "stdin-full";
    if (end instanceof Error) this.settle.reject(end);
    else if (lost) this.settle.reject(this.stopped!);
    else this.settle.resolve(end);
    this.over = true;
    this.stopped ??= end instanceof Error ? end : new Error(`${this.name} is over`);
    this.room();
    this.wake();
  }

  /** One after the other. Who does not await it misses nothing that `result` would not tell. */
  private inTurn(action: () => Promise<void>): Promise<void> {
    const done = this.written.then(action);
    this.written = done.catch(() => {});
    return done;
  }

  private async hears(timeout?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      this.room = resolve;
      const late = () => reject(new Error(`${this.name} took nothing for ${timeout} ms`));
      if (timeout !== undefined) timer = setTimeout(late, timeout);
    }).finally(() => clearTimeout(timer));
  }

  private async pour(data: Buffer, timeout?: number): Promise<void> {
    const most: number = this.client.welcome.most_stdin;
    const size = Math.min(PIECE, most);
    for (let at = 0; at < data.length; at += size) {
      const piece = data.subarray(at, at + size);
      while (!this.stopped && this.sent + piece.length - this.taken > most) {
        await this.hears(timeout);
      }
      if (this.stopped) throw this.stopped;
      this.sent += piece.length;
      this.client.say("run/stdin", { run: this.name, data: inBase64(piece) });
    }
  }
}

/** A connection. */
export class Confine {
  welcome: Message = { kind: "hello", longest_line: 1024 * 1024, most_stdin: 1024 * 1024 };
  private readonly runs = new Map<string, Run>();
  private readonly calls = new Map<string, Waiting>();
  private readonly closed: Promise<void>;
  private count = 0;
  private error?: ConfineError;
  private gone?: Error;

  private constructor(
    private readonly options: Options,
    private readonly server: string,
    private readonly writer: Writable,
    reader: Readable,
    private readonly child?: ChildProcess,
  ) {
    // Why it is gone may be on its way.
    writer.on("error", (error) => setTimeout(() => this.lose(`cannot write to it: ${error.message}`, error), 500));
    createInterface({ input: reader, crlfDelay: Infinity }).on("line", (line) => this.read(line));
    const ended = finished(reader, { writable: false }).then(() => "it ended");
    this.closed = ended.catch((error) => `cannot read from it: ${error.message}`).then((reason) => this.lose(reason));
  }

  /** Starts a server of our own, or connects to the one at a socket, and says hello. */
  static async connect(options: Options = {}): Promise<Confine> {
    let client: Confine;
    if (options.socket) {
      const socket: Socket = createConnection({ path: options.socket, allowHalfOpen: true });
      await once(socket, "connect");
      client = new Confine(options, options.socket, socket, socket);
    } else {
      const command = options.command ?? ["confine", "serve", "--stdio"];
      const child = spawn(command[0]!, command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
      await once(child, "spawn");
      client = new Confine(options, command.join(" "), child.stdin!, child.stdout!, child);
    }
    const approvals = options.ask ? "ask" : "never";
    const hello = { version: 1, client: "confine.ts", approvals, deadline_ms: options.deadline };
    try {
      client.welcome = { ...client.welcome, ...(await client.call("hello", undefined, hello)) };
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  }

  /** Starts a command. */
  start(command: (string | Uint8Array)[], options: Start = {}): Run {
    const run = new Run(this, `run-${++this.count}`);
    const { stdin = "null", cwd = process.cwd(), ...fields } = options;
    const words = command.map((word) => (typeof word === "string" ? word : fromBytes(word)));
    const given = typeof stdin === "string" ? undefined : Buffer.from(stdin);
    const piped = given !== undefined && given.length > WHOLE;
    const input = piped ? "pipe" : given ? { data: inBase64(given) } : stdin;
    this.say("run/start", { run: run.name, command: words, cwd, stdin: input, ...fields });
    this.runs.set(run.name, run);
    if (piped) {
      // A program may end without reading it all; what else goes wrong, `result` tells.
      run.write(given).then(() => run.end()).catch(() => {});
    }
    return run;
  }

  /** Asks `probe`, `plan`, `policy/check`, `policy/show` or `policy/describe`. */
  question(kind: string, fields: object = {}): Promise<Message> {
    const id = `question-${++this.count}`;
    return this.call(kind, id, { id, ...fields });
  }

  /** From here on runs may name this turn of the model. */
  openTurn(turn: string): Promise<Message> {
    return this.call("turn/open", turn, { turn });
  }

  /** What waits in it is refused, what was allowed in it and not used is taken back. */
  closeTurn(turn: string): Promise<Message> {
    return this.call("turn/close", turn, { turn });
  }

  /** Ends the connection, and with it every run. */
  async close(): Promise<void> {
    this.writer.end();
    await this.closed;
    if (this.child && this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
  }

  /** For runs: says something, without waiting for an answer. */
  say(kind: string, fields: object): void {
    if (this.gone) throw this.gone;
    const line = Buffer.from(`${JSON.stringify({ kind, ...fields })}\n`);
    if (line.length > this.welcome.longest_line) {
      throw new RangeError(`${kind} makes a line of ${line.length} bytes, which ${this.server} does not take`);
    }
    this.writer.write(line);
  }

  private call(kind: string, name: string | undefined, fields: object): Promise<Message> {
    return new Promise((resolve, reject) => {
      this.say(kind, fields);
      this.calls.set(`${kind} ${name ?? ""}`, { resolve, reject });
    });
  }

  private read(line: string): void {
    if (this.gone) return;
    try {
      this.heard(JSON.parse(line));
    } catch (error) {
      this.lose(`cannot take ${JSON.stringify(line.slice(0, 200))}: ${error}`, error);
    }
  }

  private heard(message: Message): void {
    const kind: string = field(message, "kind", "string");
    let failed: ConfineError | undefined;
    if (kind === "error") {
      field(message, "fault", "string");
      this.error = failed = new ConfineError(message);
    }
    const of: string = failed ? (message.of ?? "hello") : kind;
    const run = this.runs.get(message.run);
    if (kind === "approval/request" && this.options.ask) {
      void this.answer(field(message, "approval", "string"), message);
    } else if (kind === "run/output") {
      field(message, "run", "string");
      run?.take({ stream: field(message, "stream", "string"), data: toBytes(message.data) });
    } else if (kind === "run/result" || (failed && of === "run/start")) {
      const name = field(message, "run", "string");
      if (!failed) field(message, "exit_code", "number"), field(message, "report", "object");
      this.runs.delete(name);
      run?.finish(failed ?? message);
    } else {
      if (of === "run/stdin") run?.heard(failed ? 0 : field(message, "taken", "number"), failed);
      const name = `${of} ${(of.startsWith("turn/") ? message.turn : message.id) ?? ""}`;
      const call = this.calls.get(name);
      this.calls.delete(name);
      if (call && failed) call.reject(failed);
      else if (call) call.resolve(message);
      else if (failed && of === "hello") throw failed; // It could not read a line, so somebody would wait for ever.
      else this.options.notice?.(message);
    }
  }

  /** Where `ask` fails the answer is no, at once; its error becomes a warning of the process. */
  private async answer(approval: string, request: Message): Promise<void> {
    try {
      this.say("approval/answer", { approval, answer: await this.options.ask!(request) });
    } catch (error) {
      if (error === this.gone) return; // Nobody is there any more, so nothing was allowed.
      if (!this.gone) this.say("approval/cancel", { approval });
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }

  /** One error for everybody who waits and who comes later, and the end of a server that did not end by itself. */
  private lose(reason: string, cause?: unknown): void {
    if (this.gone) return;
    const last = this.error ? `; its last error was ${this.error.message}` : "";
    this.gone = new Error(`${this.server} is gone: ${reason}${last}`, { cause: this.error ?? cause });
    for (const run of this.runs.values()) run.finish(this.gone);
    for (const call of this.calls.values()) call.reject(this.gone);
    if (!cause) return;
    this.child?.kill("SIGKILL");
    this.writer.destroy();
  }
}
