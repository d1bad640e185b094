/** Defines the errors of this package. */

/** @typedef {import("./schema.js").components["schemas"]} Schemas */

/** Base class of all errors of this package. */
export class PlatestreamError extends Error {
  name = "PlatestreamError";
}

/** There was no response: the connection failed or timed out. */
export class UnreachableError extends PlatestreamError {
  name = "UnreachableError";
}

/**
 * The API rejected a call, or failed. `code` is the machine-readable error code, `sentence` is the
 * message for people, and `requestId` identifies the call in the server's logs.
 */
export class ApiError extends PlatestreamError {
  name = "ApiError";

  /**
   * @param {number} status
   * @param {Partial<Schemas["Error"]>} said
   * @param {Headers} [headers]
   */
  constructor(status, said, headers) {
    const code = said.code ?? "unknown";
    const sentence = said.error ?? "The response is not from a Platestream API.";
    const fields = said.fields ?? [];
    const faults = fields.map((fault) => ` ${fault.path}: ${fault.message}.`).join("");
    super(`${status} ${code}: ${sentence}${faults}`);
    this.status = status;
    /** @type {string} */
    this.code = code;
    this.sentence = sentence;
    this.fields = fields;
    this.requestId = said.requestId ?? headers?.get("X-Request-Id") ?? "";
    const seconds = headers?.get("Retry-After") ?? "";
    /** @type {number | null} */
    this.retryAfter = /^\d+$/.test(seconds) ? Number(seconds) : null;
  }
}

/** The stream was interrupted for too long: recognitions since `since` may be missing. */
export class StreamGapError extends PlatestreamError {
  name = "StreamGapError";

  /** @param {string} since */
  constructor(since) {
    super(`The stream could not replay everything since ${since}; search for the missing recognitions.`);
    this.since = since;
  }
}

/**
 * Return the error in an unsuccessful response.
 *
 * @param {Response} answer
 */
export async function errorOf(answer) {
  const said = await answer.json().catch(() => null);
  return new ApiError(answer.status, typeof said === "object" && said ? said : {}, answer.headers);
}
