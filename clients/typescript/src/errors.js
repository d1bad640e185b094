/** What can go wrong, as errors. */

/** @typedef {import("./schema.js").components["schemas"]} Schemas */

/** Base of all errors of this package. */
export class PlatestreamError extends Error {
  name = "PlatestreamError";
}

/** No answer came: no connection, or none within the time limit. */
export class UnreachableError extends PlatestreamError {
  name = "UnreachableError";
}

/**
 * The API refused a call, or failed at it. `code` is the stable word for programs, `sentence` is
 * for a person, and `requestId` is what the operator finds the call by.
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

/** Recognitions from `since` on may be missing in a stream: it was away for too long. */
export class StreamGapError extends PlatestreamError {
  name = "StreamGapError";

  /** @param {string} since */
  constructor(since) {
    super(`The stream could not replay everything since ${since}; search for the missing recognitions.`);
    this.since = since;
  }
}

/**
 * What an answer that is not a success says.
 *
 * @param {Response} answer
 */
export async function errorOf(answer) {
  const said = await answer.json().catch(() => null);
  return new ApiError(answer.status, typeof said === "object" && said ? said : {}, answer.headers);
}
