/** Tests of the receiver helpers, with the same signatures as the Python client's tests. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { EventError, Seen, SignatureError, parse, verify } from "../src/receiver.js";

const vectors = JSON.parse(await readFile(new URL("../../signatures.json", import.meta.url), "utf8"));
const body = Buffer.from(vectors.body);

for (const { what, secrets, headers, now, anyTime, isGenuine } of vectors.cases) {
  test(`a signature: ${what}`, () => {
    const verified = () => verify(secrets, headers, body, { now, ...(anyTime && { tolerance: null }) });
    if (isGenuine) verified();
    else assert.throws(verified, SignatureError);
  });
}

test("headers can be a Headers object, and the body must be bytes", () => {
  const { secrets, headers, now } = vectors.cases[0];
  verify(secrets[0], new Headers(headers), body, { now });
  assert.throws(() => verify(secrets, headers, /** @type {any} */ ({ parsed: true }), { now }), /raw bytes/);
  assert.throws(() => verify("", headers, body, { now }), /must not be empty/);
});

test("an event is parsed, and other bodies are rejected", () => {
  const event = parse(body);
  assert.equal(event.event === "recognition.created" && event.data.recognition.plate, "AB12CDE");
  for (const wrong of ["", "{", "null", "[]", '{"id": "1"}', Buffer.from([0xff])]) {
    assert.throws(() => parse(Buffer.from(wrong)), EventError);
  }
});

test("an event is processed once unless it failed", async () => {
  const seen = new Seen();
  await assert.rejects(seen.once("1", () => Promise.reject(new Error("not now"))), /not now/);
  assert.deepEqual(await Promise.all(["1", "1", "2"].map((id) => seen.once(id, () => undefined))), [true, false, true]);
});

test("IDs expire, and the oldest one is removed above the limit", async () => {
  const short = new Seen({ seconds: 0 });
  const small = new Seen({ atMost: 1 });
  for (const id of ["1", "1"]) assert.ok(await short.once(id, () => undefined));
  for (const id of ["1", "2", "1"]) assert.ok(await small.once(id, () => undefined));
});
