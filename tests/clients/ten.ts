/**
 * Ten commands at once: their output as it comes, one of them cancelled, one that asks; then the reports.
 *
 *     node build/ten.js CONFINE WORKSPACE OUTSIDE
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { type Answer, Confine, type Message, type Run } from "./confine.js";

const [confine, workspace, outside] = process.argv.slice(2) as [string, string, string];
const decided: string[] = [];

async function ask(approval: Message): Promise<Answer> {
  for (const line of approval.text) console.log(line);
  return "allow-once";
}

function notice(message: Message): void {
  if (message.kind === "approval/decided") decided.push(message.outcome.kind);
}

async function text(run: Run): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const { data } of run) chunks.push(data);
  return Buffer.concat(chunks).toString();
}

const client = await Confine.connect({ command: [confine, "serve", "--stdio"], ask, notice });
const shell = (script: string, stdin: "null" | "pipe") => client.start(["sh", "-c", script], { cwd: workspace, stdin });
const numbers = [...Array(8).keys()];
const runs = numbers.map((n) => shell(`echo begin ${n}; cat; echo end ${n}`, "pipe"));
const sleeper = shell("echo begin; sleep 600", "null");
const asker = shell(`echo yes > ${outside}/granted`, "null");
const texts = runs.map(text);
runs.forEach((run, n) => {
  run.write(`middle ${n}\n`);
  run.end();
});
const asked = await asker.result;
sleeper.cancel();
const results = await Promise.all([...runs, sleeper, asker].map((run) => run.result));
const seen = await Promise.all(texts);
await client.close();

assert.deepEqual(seen, numbers.map((n) => `begin ${n}\nmiddle ${n}\nend ${n}\n`));
const verdicts = results.map((result) => result.report.verdict);
assert.deepEqual(verdicts, [...numbers.map(() => "passed"), "cancelled", "passed"]);
assert.deepEqual(asked.report.attempts.map((attempt: any) => attempt.verdict), ["denied", "passed"]);
assert.deepEqual(decided, ["allowed-once"]);
assert.equal(readFileSync(`${outside}/granted`, "utf8"), "yes\n");
console.log("ten commands, one cancelled, one allowed once:", asked.report.attempts[1].grant);
