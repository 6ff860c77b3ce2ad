/**
 * What goes wrong, and how it shows: much input for a late reader, servers that talk garbage, an `ask` that fails.
 *
 *     node build/trouble.js CONFINE WORKSPACE OUTSIDE
 */

import assert from "node:assert/strict";

import { Confine, type Run } from "./confine.js";

const [confine, workspace, outside] = process.argv.slice(2) as [string, string, string];
const serve = [confine, "serve", "--stdio"];
const much = Buffer.from([...Array(256).keys()]).toString("latin1").repeat(12 * 1024);
const bytes = Buffer.from(much, "latin1"); // 3 MiB, of which no line is UTF-8.
const HELLO = '{"kind": "hello", "version": 1}';
const welcomed = `read -r hello; echo '${HELLO}'; read -r start; printf '%s\\n' "$1"; `;
const GARBAGE = [
  "Segmentation fault",
  "[]",
  "3",
  "null",
  "{}",
  '{"kind": "run/output"}',
  '{"kind": "run/output", "run": "run-1", "stream": "stdout"}',
  '{"kind": "run/result"}',
  '{"kind": "run/result", "run": "run-1", "exit_code": 0}',
  '{"kind": "run/stdin", "run": "run-1", "taken": "much"}',
  '{"kind": "approval/request"}',
  '{"kind": "error", "of": "run/start", "run": "run-1"}',
  '{"kind": "error", "fault": "malformed", "text": "read this", "of": null}',
];

/** What a promise comes to, in time. */
function within<T>(seconds: number, what: string, promise: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${what} takes more than ${seconds} s`)), seconds * 1000).unref();
  });
  return Promise.race([promise, late]);
}

async function output(run: Run): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const { data } of run) chunks.push(data);
  return Buffer.concat(chunks).toString();
}

async function muchIsWritten(client: Confine): Promise<void> {
  const script = ["sh", "-c", "sleep 1; cksum"];
  const written = client.start(script, { cwd: workspace, stdin: "pipe" });
  const given = client.start(script, { cwd: workspace, stdin: bytes });
  void written.write(bytes);
  void written.end();
  const sums = await Promise.all([written, given].map(output));
  assert.equal((await written.result).report.verdict, "passed");
  assert.equal(sums[0], sums[1]);
  assert.equal(Number(sums[0]!.split(" ")[1]), bytes.length);
}

async function earlyEnd(client: Confine): Promise<void> {
  const written = client.start(["true"], { cwd: workspace, stdin: "pipe" });
  await assert.rejects(written.write(bytes));
  await written.end();
  assert.equal((await client.start(["true"], { cwd: workspace, stdin: bytes }).result).exitCode, 0);
}

/** It closed its input and lives: the writer waits no longer than it says. */
async function deaf(client: Confine): Promise<void> {
  const run = client.start(["sh", "-c", "exec <&-; sleep 60"], { cwd: workspace, stdin: "pipe", backend: "bwrap" });
  await assert.rejects(run.write(bytes, 300), /took nothing for 300 ms/);
  run.cancel();
  assert.equal((await run.result).report.verdict, "cancelled");
}

async function longLine(client: Confine): Promise<void> {
  assert.throws(() => client.start(["echo", "a".repeat(1024 * 1024)], { cwd: workspace }), RangeError);
  assert.equal((await client.start(["true"], { cwd: workspace }).result).exitCode, 0);
}

/** What everything that waits is told when a server says `line`. */
async function garbage(line: string, script: string): Promise<string> {
  const command = ["sh", "-c", script, "garbage", line];
  try {
    const client = await Confine.connect({ command, ask: async () => "reject" });
    const run = client.start(["true"]);
    const [result, answer] = await Promise.allSettled([run.result, client.question("probe")]);
    const later = await run.write("more").catch((error) => error);
    await client.close();
    assert.ok(result.status === "rejected" && answer.status === "rejected");
    assert.ok(result.reason === answer.reason && result.reason === later);
    return result.reason.message;
  } catch (error) {
    assert.ok(error instanceof Error && !(error instanceof assert.AssertionError), String(error));
    return error.message;
  }
}

/** A server that lost input, and calls the run passed. */
async function lostInput(): Promise<void> {
  const lost = '{"kind": "error", "of": "run/stdin", "run": "run-1", "fault": "stdin-full", "text": "take it"}';
  const result = '{"kind": "run/result", "run": "run-1", "exit_code": 0, "report": {"verdict": "passed"}}';
  const command = ["sh", "-c", `${welcomed}cat > /dev/null`, "server", `${lost}\n${result}`];
  const client = await Confine.connect({ command });
  await assert.rejects(client.start(["cat"], { stdin: "pipe" }).result, { fault: "stdin-full" });
  await client.close();
}

/** It is over at once, not at the deadline; what `ask` raised is not lost. */
async function failingAsk(): Promise<void> {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const ask = () => Promise.reject(new Error("nobody knows"));
  const client = await Confine.connect({ command: serve, ask });
  const { report } = await client.start(["sh", "-c", `echo no > ${outside}/no`], { cwd: workspace }).result;
  await client.close();
  assert.ok(report.verdict === "denied" && report.refusal, JSON.stringify(report));
  assert.equal((await warned).message, "nobody knows");
}

const client = await Confine.connect({ command: serve });
await within(30, "much input", muchIsWritten(client));
await within(10, "an early end", earlyEnd(client));
await within(10, "a deaf program", deaf(client));
await within(10, "a long line", longLine(client));
await client.close();
const talks = (line: string, script: string) => within(3, line, garbage(line, script));
console.log(await talks("Segmentation fault", 'read -r hello; echo "$1"; exec sleep 60'));
for (const line of GARBAGE) console.log(await talks(line, `${welcomed}exec sleep 60`));
const ignored = ['{"kind": "surprise"}', '{"kind": "run/result", "run": "?", "exit_code": 0, "report": {}}'];
assert.match(await talks(ignored.join("\n"), welcomed), /it ended/);
const refused = '{"kind": "error", "fault": "too-long", "text": "take it", "of": "plan"}';
assert.match(await talks(refused, welcomed), /too-long/);
await within(3, "lost input", lostInput());
await within(10, "an ask that fails", failingAsk());
console.log("trouble is told");
