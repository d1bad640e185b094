/** Retries, pagination and the event stream of the client. */

import assert from "node:assert/strict";
import test from "node:test";

import { ApiError, Client, StreamGapError, UnreachableError } from "../src/client.js";
import { serving, taken } from "./service.js";

const busy = { status: 429, headers: { "Retry-After": "1" }, json: { error: "Wait.", code: "rate_limited" } };
const failed = { status: 500, json: { error: "No.", code: "internal_error", requestId: "r1" } };
const running = { status: 409, json: { error: "Still running.", code: "idempotency_key_in_use" } };

/** @param {string} id @param {string} plate */
const event = (id, plate) => `id: ${id}\ndata: ${JSON.stringify({ plate })}\n\n`;

test("a rate-limited call waits for Retry-After", async () => {
  const begun = performance.now();
  const answers = [busy, { json: { alert: { id: "1" } } }];
  const { result, requests } = await serving(answers, (client) => client.alerts.create({ name: "x" }), { longestWait: 1 });
  assert.equal(result.id, "1");
  assert.ok(performance.now() - begun > 990);
  assert.deepEqual(requests.map(({ method, url, body }) => [method, url, body]), Array(2).fill(["POST", "/api/alertas", '{"name":"x"}']));
  assert.equal(requests[0].headers.authorization, "Bearer pk_x");
});

test("a Retry-After above longestWait raises the error", async () => {
  const blocked = { ...busy, headers: { "Retry-After": "300" } };
  await assert.rejects(
    serving([blocked], (client) => client.account.credits()),
    (error) => error instanceof ApiError && error.retryAfter === 300 && error.code === "rate_limited",
  );
});

test("a call that may have been executed is only retried if it is a read", async () => {
  for (const fault of [failed, null]) {
    const { requests } = await serving([fault, { json: { camera: {} } }], (client) => client.cameras.get("a/b"));
    assert.deepEqual(requests.map(({ url }) => url), Array(2).fill("/api/cameras/a%2Fb"));
    const unused = { json: { camera: {} } };
    await assert.rejects(serving([fault, unused], (client) => client.cameras.create({ name: "x", rtspUrl: "y" })));
  }
});

test("a call that was not sent is retried up to the number of attempts", async () => {
  let sent = 0;
  const refusing = () => ((sent += 1), Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } })));
  const client = new Client({ baseUrl: "http://api.example", apiKey: "pk_x", attempts: 2, fetch: /** @type {any} */ (refusing) });
  await assert.rejects(client.webhooks.delete("1"), UnreachableError);
  assert.equal(sent, 2);
});

test("a call times out", async () => {
  const slow = { chunks: ["{", ...Array(30).fill(" ")] };
  await assert.rejects(
    serving([slow], (client) => client.account.credits(), { timeout: 0.1, attempts: 1 }),
    UnreachableError,
  );
});

test("an image call reuses its idempotency key", async () => {
  const image = new Uint8Array([105, 109, 103]);
  const { requests } = await serving([null, running, { json: { plates: [] } }], (client) => client.recognitions.recognize(image, { store: true }));
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual([requests[2].body, requests[2].url, requests[2].headers["content-type"]], ["img", "/api/recognize?store=true", "application/octet-stream"]);
  await assert.rejects(serving([running], (client) => client.recognitions.recognize(image)), ApiError);
});

test("a CSV file is sent unchanged", async () => {
  const file = new Uint8Array([65, 66, 49]);
  const { requests } = await serving([{ json: { plates: ["AB1"] } }], (client) => client.alerts.readCsv(file, { encoding: "utf-8" }));
  assert.deepEqual([requests[0].body, requests[0].url, requests[0].headers["content-type"]], ["AB1", "/api/alertas/plates/import?encoding=utf-8", "text/csv"]);
});

test("redirects are not followed, and an error has all fields", async () => {
  const elsewhere = { status: 302, headers: { Location: "http://127.0.0.1:1/" }, json: [] };
  await assert.rejects(serving([elsewhere], (client) => client.account.credits()), /302 unknown/);
  const fields = [{ path: "limit", message: "must be at most 200" }];
  const refused = { status: 400, json: { error: "No.", code: "invalid_request", requestId: "r1", fields } };
  await assert.rejects(serving([refused], (client) => client.account.credits()), (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.message, "400 invalid_request: No. limit: must be at most 200.");
    assert.deepEqual([error.requestId, error.fields], ["r1", fields]);
    return true;
  });
});

test("a list requests all pages", async () => {
  const pages = [
    { json: { recognitions: [{ id: "1" }, { id: "2" }], nextKey: "k" } },
    { json: { recognitions: [{ id: "3" }], nextKey: null } },
  ];
  const from = new Date("2026-11-01T00:00:00Z");
  const { result, requests } = await serving(pages, (client) => taken(client.recognitions.search({ plate: "a b", from })));
  assert.deepEqual(result.map(({ id }) => id), ["1", "2", "3"]);
  const first = "/api/recognitions?plate=a+b&from=2026-11-01T00%3A00%3A00.000Z&limit=200";
  assert.deepEqual(requests.map(({ url }) => url), [first, `${first}&lastKey=k`]);
});

test("an export yields several files", async () => {
  const parts = [{ chunks: ["a"], headers: { "X-Next-Key": "k" } }, { chunks: ["b"] }];
  const { result, requests } = await serving(parts, (client) => taken(client.recognitions.export({ format: "parquet" })));
  assert.deepEqual(result.map(({ content, nextKey }) => [String.fromCharCode(...content), nextKey]), [["a", "k"], ["b", null]]);
  assert.match(requests[1].url ?? "", /lastKey=k/);
});

test("a stream resumes after a lost connection", async () => {
  // Cut inside a character, and inside an event whose ID was already received.
  const [first, second, third] = [event("1", "Tür"), event("2", "B"), event("3", "C")];
  const bytes = Buffer.from(first);
  const middle = bytes.indexOf(0xc3) + 1;
  const answers = [
    { chunks: ["retry: 20\nid: 0\n: open\n\n", bytes.subarray(0, middle), bytes.subarray(middle), second.slice(0, -3)], cut: true },
    null,
    { status: 503, json: { error: "Busy.", code: "service_busy" } },
    { chunks: [second, third] },
  ];
  const { result, requests } = await serving(answers, (client) => taken(client.recognitions.stream({ plate: "x" }), 3));
  assert.deepEqual(result.map(({ plate }) => plate), ["Tür", "B", "C"]);
  assert.deepEqual(requests.map(({ headers }) => headers["last-event-id"]), [undefined, "1", "1", "1"]);
  assert.equal(requests[3].url, "/api/recognitions/stream?plate=x");
});

test("a gap in a stream is an error without onGap", async () => {
  const gap = { chunks: ['event: reset\ndata: {"since": "10:00"}\n\n', event("2", "B")] };
  await assert.rejects(serving([gap], (client) => taken(client.recognitions.stream())), StreamGapError);
  /** @type {string[]} */
  const told = [];
  const onGap = (/** @type {string} */ since) => void told.push(since);
  const { result } = await serving([gap], (client) => taken(client.recognitions.stream({ onGap }), 1));
  assert.deepEqual([result[0].plate, told], ["B", ["10:00"]]);
});

test("a stream ends when access is denied and when its signal aborts", async () => {
  const end = { chunks: ['event: end\ndata: {"error": "Revoked.", "code": "invalid_credentials"}\n\n'] };
  for (const answer of [end, { status: 401, json: { code: "invalid_credentials" } }]) {
    await assert.rejects(serving([answer], (client) => taken(client.recognitions.stream())), /invalid_credentials/);
  }
  const open = { chunks: Array(200).fill(": beat\n\n") };
  const signal = AbortSignal.timeout(100);
  await assert.rejects(serving([open], (client) => taken(client.recognitions.stream({ signal }))), { name: "TimeoutError" });
});

test("a client requires a URL and an API key", () => {
  assert.throws(() => new Client({ baseUrl: "http://api.example" }), /PLATESTREAM_KEY/);
});
