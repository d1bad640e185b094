/** Sends calls and retries them. */

import { ApiError, PlatestreamError, UnreachableError, errorOf } from "./errors.js";

/**
 * @typedef {object} Options
 * @property {string} [baseUrl] URL of the API. Default: `PLATESTREAM_URL`
 * @property {string} [apiKey] API key of the account. Default: `PLATESTREAM_KEY`
 * @property {number} [timeout] maximum duration of an attempt in seconds. Default: 30
 * @property {number} [attempts] maximum number of attempts. Default: 4
 * @property {number} [longestWait] maximum wait between attempts in seconds; if the API asks for more, the error is thrown. Default: 60
 * @property {typeof fetch} [fetch] custom `fetch`, for a proxy or certificates
 */

/** @typedef {string | number | boolean | Date | null | undefined} Given */

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} path
 * @property {Record<string, Given>} [query]
 * @property {unknown} [json]
 * @property {Uint8Array | Blob} [image]
 * @property {Uint8Array | Blob} [csv]
 * @property {string} [idempotencyKey]
 */

const FIRST_PAUSE = 0.5;
const SILENCE_OF_STREAMS = 60;

/** @param {number} seconds */
export const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

export class Http {
  /** @param {Options} options */
  constructor(options) {
    const environment = globalThis.process?.env ?? {};
    const base = options.baseUrl ?? environment.PLATESTREAM_URL;
    const key = options.apiKey ?? environment.PLATESTREAM_KEY;
    if (!base || !key) {
      throw new TypeError(
        "baseUrl and apiKey are required; pass them or set PLATESTREAM_URL and PLATESTREAM_KEY",
      );
    }
    this.base = base.replace(/\/+$/, "");
    this.authorization = `Bearer ${key}`;
    this.timeout = options.timeout ?? 30;
    this.attempts = options.attempts ?? 4;
    this.longestWait = options.longestWait ?? 60;
    this.fetch = options.fetch ?? globalThis.fetch;
  }

  /**
   * Make a call, retrying if that can help, and return the result that `take` extracts from the
   * response.
   *
   * @template T
   * @param {Request} request
   * @param {(answer: Response) => Promise<T>} take
   * @returns {Promise<T>}
   */
  async perform(request, take) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(request, take);
      } catch (fault) {
        const seconds = this.#pauseAfter(fault, attempt, request);
        if (seconds === null) throw fault;
        await pause(seconds);
      }
    }
  }

  /**
   * @template T
   * @param {Request} request
   * @param {(answer: Response) => Promise<T>} take
   * @returns {Promise<T>}
   */
  async #once(request, take) {
    const limit = AbortSignal.timeout(this.timeout * 1000);
    const answer = await this.send(request, {}, limit);
    try {
      if (answer.ok) return await take(answer);
      throw await errorOf(answer);
    } catch (error) {
      throw error instanceof PlatestreamError || error instanceof SyntaxError ? error : unreachable(error);
    }
  }

  /**
   * Send a request and return the response before the body has arrived.
   *
   * @param {Request} request
   * @param {Record<string, string>} more headers
   * @param {AbortSignal} signal
   */
  async send(request, more, signal) {
    const { method, path, query = {}, json, image, csv, idempotencyKey } = request;
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]],
    );
    const search = given.length ? `?${new URLSearchParams(given)}` : "";
    /** @type {Record<string, string>} */
    const headers = { Authorization: this.authorization, ...more };
    if (json !== undefined) headers["Content-Type"] = "application/json";
    if (image) headers["Content-Type"] = "application/octet-stream";
    if (csv) headers["Content-Type"] = "text/csv";
    if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
    const body = /** @type {BodyInit | undefined} */ (image ?? csv) ?? (json === undefined ? undefined : JSON.stringify(json));
    const { fetch } = this;
    try {
      // Redirects are not followed, because the key would be sent to the new URL.
      return await fetch(`${this.base}${path}${search}`, { method, headers, body, signal, redirect: "manual" });
    } catch (error) {
      throw unreachable(error);
    }
  }

  /**
   * Return the seconds until the next attempt, or null if the call must not be retried.
   *
   * @param {unknown} fault
   * @param {number} attempt
   * @param {Request} request
   */
  #pauseAfter(fault, attempt, request) {
    if (attempt >= this.attempts || !(fault instanceof PlatestreamError)) return null;
    if (fault instanceof ApiError && [429, 503].includes(fault.status) && fault.retryAfter !== null) {
      return fault.retryAfter <= this.longestWait ? fault.retryAfter : null;
    }
    const mayBeRepeated = request.method === "GET" || request.idempotencyKey !== undefined;
    if (!wasNotSent(fault) && !(mayBeRepeated && mayPass(fault, attempt))) return null;
    const most = Math.min(FIRST_PAUSE * 2 ** attempt, this.longestWait);
    return most * (0.5 + Math.random() / 2);
  }

  /**
   * Open a stream. The response is aborted after a minute without data, or when `close` is called.
   *
   * @param {Request} request
   * @param {Record<string, string>} headers
   * @returns {Promise<{answer: Response, chunks: AsyncGenerator<Uint8Array>, close: () => void}>}
   */
  async open(request, headers) {
    const controller = new AbortController();
    const close = () => controller.abort();
    let silence = setTimeout(close, this.timeout * 1000);
    const answer = await this.send(request, headers, controller.signal).catch((error) => {
      clearTimeout(silence);
      throw error;
    });
    async function* chunks() {
      const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
      try {
        for (;;) {
          clearTimeout(silence);
          silence = setTimeout(close, SILENCE_OF_STREAMS * 1000);
          const { done, value } = await reader.read().catch((error) => {
            throw unreachable(error);
          });
          if (done) return;
          yield value;
        }
      } finally {
        clearTimeout(silence);
      }
    }
    return { answer, chunks: chunks(), close: () => (clearTimeout(silence), close()) };
  }
}

/** @param {unknown} error */
function unreachable(error) {
  const cause = /** @type {any} */ (error)?.cause ?? error;
  return new UnreachableError(`The API is not responding: ${cause?.message || cause?.code || cause}.`, { cause });
}

/**
 * Return whether no connection could be established, so that nothing was sent.
 *
 * @param {PlatestreamError} fault
 */
function wasNotSent(fault) {
  const cause = /** @type {any} */ (fault.cause);
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"].includes(cause?.code);
}

/**
 * @param {PlatestreamError} fault
 * @param {number} attempt
 */
function mayPass(fault, attempt) {
  if (!(fault instanceof ApiError)) return fault instanceof UnreachableError;
  // After the first attempt, the request that uses the key is an earlier attempt of this call.
  return fault.status >= 500 || (fault.code === "idempotency_key_in_use" && attempt > 1);
}
