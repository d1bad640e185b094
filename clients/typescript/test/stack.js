/** Calls a running service: `PLATESTREAM_URL=... PLATESTREAM_KEY=... node test/stack.js PHOTO`. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { ApiError, Client } from "../src/client.js";
import { taken } from "./service.js";

const client = new Client();

const hook = await client.webhooks.create({ name: "Gate", url: "https://a.example.com/x", events: ["recognition.created"] });
assert.ok(hook.secret);
assert.equal((await client.webhooks.test(hook.id)).event, "recognition.created");
assert.deepEqual((await taken(client.webhooks.all())).map(({ id }) => id), [hook.id]);
await client.webhooks.delete(hook.id);

const alert = await client.alerts.create({ name: "Any", plateMatchMode: "any" });
assert.equal((await client.alerts.update(alert.id, { enabled: false })).enabled, false);
await client.alerts.delete(alert.id);
await assert.rejects(client.alerts.get(alert.id), (error) => error instanceof ApiError && error.code === "not_found");

const read = await client.recognitions.recognize(await readFile(process.argv[2]));
assert.deepEqual(read.plates, []);
assert.equal((await client.account.credits()).credits, read.creditsRemaining);
assert.equal((await client.account.analytics()).hourlyChart.length, 24);

const made = await client.apiKeys.create({ name: "reader", scopes: ["cameras:read"] });
assert.equal((await new Client({ apiKey: made.plainKey }).account.session()).kind, "key");
await client.apiKeys.revoke(made.apiKey.id);

assert.deepEqual(await taken(client.cameras.all()), []);
assert.deepEqual(await taken(client.recognitions.search({ plate: "ab" })), []);
const [first] = await taken(client.recognitions.stream(), 1);
console.log(first.plate);
