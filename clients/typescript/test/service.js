/** A fake service that sends given responses in order, and records the requests. */

import { createServer } from "node:http";
import { once } from "node:events";

import { Client } from "../src/client.js";

/**
 * @typedef {{status?: number, headers?: Record<string, string>, json?: unknown, chunks?: (string | Buffer)[], cut?: boolean}} Answer
 */

/**
 * Call `act` with a client of a service that sends `answers`; `null` closes the connection.
 *
 * @template T
 * @param {(Answer | null)[]} answers
 * @param {(client: Client) => Promise<T>} act
 * @param {import("../src/http.js").Options} [options]
 */
export async function serving(answers, act, options = {}) {
  /** @type {{method?: string, url?: string, headers: import("node:http").IncomingHttpHeaders, body: string}[]} */
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = [];
    for await (const chunk of request) body.push(chunk);
    requests.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(body).toString() });
    const answer = answers.shift();
    if (!answer) return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, answer.headers);
    for (const chunk of answer.chunks ?? [answer.json === undefined ? "" : JSON.stringify(answer.json)]) {
      response.write(chunk);
      await new Promise((done) => setTimeout(done, 20));
    }
    if (answer.cut) request.socket.destroy();
    else response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  try {
    const client = new Client({ baseUrl: `http://127.0.0.1:${port}/`, apiKey: "pk_x", longestWait: 0.05, ...options });
    return { result: await act(client), requests };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/**
 * Return the first items of an async iterable.
 *
 * @template T
 * @param {AsyncIterable<T>} items
 * @param {number} [count]
 */
export async function taken(items, count = 99) {
  const found = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === count) break;
  }
  return found;
}
