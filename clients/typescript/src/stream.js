/** Reads the stream of new recognitions, and reconnects as often as necessary. */

import { ApiError, PlatestreamError, StreamGapError, errorOf } from "./errors.js";
import { pause } from "./http.js";

/**
 * @typedef {import("./http.js").Http} Http
 * @typedef {import("./http.js").Given} Given
 * @typedef {import("./schema.js").components["schemas"]} Schemas
 */

/**
 * Position of a client in the event stream. Source: the HTML standard, "Server-sent events".
 */
class Place {
  lastId = "";
  reconnectSeconds = 3;
  wasOpen = false;
  failures = 0;
  #id = "";
  #event = "";
  /** @type {string[]} */
  #data = [];
  #rest = "";
  #decoder = new TextDecoder();

  /** Reset the state for a new connection, which resends a partly received event. */
  opened() {
    this.wasOpen = true;
    this.#decoder = new TextDecoder();
    this.#rest = this.#event = "";
    this.#id = this.lastId;
    this.#data = [];
  }

  /**
   * Yield the events that a chunk completes.
   *
   * @param {Uint8Array} chunk
   * @returns {Generator<{event: string, data: any}>}
   */
  *read(chunk) {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = /** @type {string} */ (lines.pop());
    for (const line of lines) {
      this.failures = 0;
      yield* this.#readLine(line.replace(/\r$/, ""));
    }
  }

  /**
   * @param {string} line
   * @returns {Generator<{event: string, data: any}>}
   */
  *#readLine(line) {
    const [, name, value] = /** @type {RegExpExecArray} */ (/^([^:]*)(?::? ?)(.*)$/s.exec(line));
    if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "retry" && /^\d+$/.test(value)) this.reconnectSeconds = Number(value) / 1000;
    else if (line === "") {
      // Store the ID only now, because an event that was cut off must be sent again.
      this.lastId = this.#id;
      const [event, data] = [this.#event, this.#data];
      [this.#event, this.#data] = ["", []];
      if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
    }
  }

  /**
   * Return the seconds to wait before reconnecting, or throw the error if reconnecting cannot help.
   *
   * @param {unknown} fault
   * @param {Http} http
   */
  pauseAfter(fault, http) {
    if (fault !== null && !(fault instanceof PlatestreamError)) throw fault;
    if (fault instanceof StreamGapError) throw fault;
    if (fault instanceof ApiError && fault.status < 500 && fault.status !== 429) throw fault;
    this.failures += 1;
    if (fault !== null && !this.wasOpen && this.failures >= http.attempts) throw fault;
    if (fault instanceof ApiError && fault.retryAfter !== null) return fault.retryAfter;
    return Math.min(this.reconnectSeconds * 2 ** Math.min(this.failures - 1, 5), http.longestWait);
  }
}

/**
 * @typedef {object} Watching
 * @property {(since: string) => void} [onGap] called if not all recognitions could be sent, with the time
 *   from which to search for the missing recognitions; without `onGap`, StreamGapError is thrown
 * @property {AbortSignal} [signal] ends the stream
 */

/**
 * @param {Http} http
 * @param {Record<string, Given>} query
 * @param {Watching} watching
 * @returns {AsyncGenerator<Schemas["RecognitionBody"], never, undefined>}
 */
export async function* follow(http, query, watching) {
  const place = new Place();
  const request = { method: "GET", path: "/api/recognitions/stream", query };
  for (;;) {
    watching.signal?.throwIfAborted();
    /** @type {unknown} */
    let fault = null;
    try {
      yield* connection(http, request, place, watching);
    } catch (error) {
      watching.signal?.throwIfAborted();
      fault = error;
    }
    await pause(place.pauseAfter(fault, http));
  }
}

/**
 * @param {Http} http
 * @param {import("./http.js").Request} request
 * @param {Place} place
 * @param {Watching} watching
 * @returns {AsyncGenerator<Schemas["RecognitionBody"]>}
 */
async function* connection(http, request, place, { onGap, signal }) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "text/event-stream" };
  if (place.lastId) headers["Last-Event-ID"] = place.lastId;
  const { answer, chunks, close } = await http.open(request, headers);
  signal?.addEventListener("abort", close);
  try {
    if (!answer.ok) throw await errorOf(answer);
    place.opened();
    for await (const chunk of chunks) {
      for (const { event, data } of place.read(chunk)) {
        if (event === "end") throw new ApiError(200, data);
        if (event === "reset" && !onGap) throw new StreamGapError(data.since);
        if (event === "reset") onGap?.(data.since);
        else if (!event) yield data;
      }
    }
  } finally {
    signal?.removeEventListener("abort", close);
    close();
  }
}
