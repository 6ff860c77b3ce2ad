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
    return { base64: Buffer.from(data).toString("base64") };
  }
}

type Waiting = { resolve: (message: Message) => void; reject: (error: Error) => void };

/** A run under way. Iterate over it for its output until it is over; `result` is how it ended. */
export class Run implements AsyncIterable<Output> {
  readonly result: Promise<Result>;
  private readonly chunks: Output[] = [];
  private wake = () => {};
  private over = false;
  private settle!: Waiting;

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

  /** More for its standard input, where it was started with `stdin: "pipe"`. */
  write(data: Uint8Array | string): void {
    this.client.say("run/stdin", { run: this.name, data: typeof data === "string" ? data : fromBytes(data) });
  }

  /** No more for its standard input. */
  end(): void {
    this.client.say("run/stdin", { run: this.name, end: true });
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
  take(message: Message): void {
    this.chunks.push({ stream: message.stream, data: toBytes(message.data) });
    this.wake();
  }

  /** For the client: the end. */
  finish(end: Message | Error): void {
    this.over = true;
    if (end instanceof Error) this.settle.reject(end);
    else this.settle.resolve(end);
    this.wake();
  }
}

/** A connection. */
export class Confine {
  welcome: Message = { kind: "hello" };
  private readonly runs = new Map<string, Run>();
  private readonly calls = new Map<string, Waiting>();
  private readonly closed: Promise<void>;
  private count = 0;
  private gone?: Error;

  private constructor(
    private readonly options: Options,
    private readonly writer: Writable,
    reader: Readable,
    private readonly child?: ChildProcess,
  ) {
    writer.on("error", () => {}); // The reader sees the end.
    const lines = createInterface({ input: reader, crlfDelay: Infinity });
    lines.on("line", (line) => this.heard(JSON.parse(line)));
    this.closed = once(lines, "close").then(() => this.end(new Error("confine serve is gone")));
  }

  /** Starts a server of our own, or connects to the one at a socket, and says hello. */
  static async connect(options: Options = {}): Promise<Confine> {
    let client: Confine;
    if (options.socket) {
      const socket: Socket = createConnection({ path: options.socket, allowHalfOpen: true });
      await once(socket, "connect");
      client = new Confine(options, socket, socket);
    } else {
      const [program, ...words] = options.command ?? ["confine", "serve", "--stdio"];
      const child = spawn(program!, words, { stdio: ["pipe", "pipe", "inherit"] });
      await once(child, "spawn");
      client = new Confine(options, child.stdin!, child.stdout!, child);
    }
    const approvals = options.ask ? "ask" : "never";
    const hello = { version: 1, client: "confine.ts", approvals, deadline_ms: options.deadline };
    client.welcome = await client.call("hello", undefined, hello);
    return client;
  }

  /** Starts a command. */
  start(command: (string | Uint8Array)[], options: Start = {}): Run {
    const run = new Run(this, `run-${++this.count}`);
    const { stdin = "null", cwd = process.cwd(), ...fields } = options;
    const words = command.map((word) => (typeof word === "string" ? word : fromBytes(word)));
    const input = typeof stdin === "string" ? stdin : { data: fromBytes(stdin) };
    this.runs.set(run.name, run);
    this.say("run/start", { run: run.name, command: words, cwd, stdin: input, ...fields });
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
    this.writer.write(`${JSON.stringify({ kind, ...fields })}\n`);
  }

  private call(kind: string, name: string | undefined, fields: object): Promise<Message> {
    return new Promise((resolve, reject) => {
      this.calls.set(`${kind} ${name ?? ""}`, { resolve, reject });
      this.say(kind, fields);
    });
  }

  private heard(message: Message): void {
    const run = this.runs.get(message.run);
    if (message.kind === "approval/request") {
      void this.answer(message);
    } else if (message.kind === "run/output") {
      run?.take(message);
    } else if (message.kind === "run/result" || (message.kind === "error" && message.of === "run/start")) {
      this.runs.delete(message.run);
      run?.finish(message.kind === "error" ? new ConfineError(message) : message);
    } else {
      const of: string = message.kind === "error" ? (message.of ?? "hello") : message.kind;
      const name = `${of} ${(of.startsWith("turn/") ? message.turn : message.id) ?? ""}`;
      const call = this.calls.get(name);
      this.calls.delete(name);
      if (!call) this.options.notice?.(message);
      else if (message.kind === "error") call.reject(new ConfineError(message));
      else call.resolve(message);
    }
  }

  private async answer(approval: Message): Promise<void> {
    const answer = await this.options.ask!(approval);
    // Where nobody is there any more, nothing was allowed.
    if (!this.gone) this.say("approval/answer", { approval: approval.approval, answer });
  }

  private end(gone: Error): void {
    this.gone = gone;
    for (const run of this.runs.values()) run.finish(gone);
    for (const call of this.calls.values()) call.reject(gone);
  }
}
