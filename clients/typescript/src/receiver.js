/** Helps webhook receivers to verify signatures, parse events and drop duplicates. */

import { createHmac, timingSafeEqual } from "node:crypto";

import { PlatestreamError } from "./errors.js";

/** @typedef {import("./schema.js").components["schemas"]["Event"]} Event */
/** @typedef {Record<string, string | string[] | undefined> | Headers} GivenHeaders */

const TOLERANCE_SECONDS = 300;
const PREFIX = "whsec_";

/** The delivery cannot be trusted. Respond with 401 and ignore the delivery. */
export class SignatureError extends PlatestreamError {
  name = "SignatureError";
}

/** The body is not an event. Respond with 400. */
export class EventError extends PlatestreamError {
  name = "EventError";
}

/**
 * Check that a delivery was recently signed with the secret, or with one of several secrets.
 * Throw a SignatureError otherwise. `body` is the raw body, before parsing. Pass several secrets
 * only if you replace the secret yourself: during a rotation, the service signs with both. `tolerance`
 * is the maximum age of the signature in seconds; `null` disables the check, for receivers behind
 * a proxy that only forwards `X-Signature-256`.
 *
 * Source: the service's guide to receivers; the Standard Webhooks specification, "Verifying
 * webhook authenticity".
 *
 * @param {string | string[]} secret
 * @param {GivenHeaders} headers
 * @param {Uint8Array} body
 * @param {{tolerance?: number | null, now?: number}} [how] `now` in seconds
 */
export function verify(secret, headers, body, { tolerance = TOLERANCE_SECONDS, now = Date.now() / 1000 } = {}) {
  const secrets = [secret].flat();
  if (secrets.length === 0 || secrets.includes("")) throw new TypeError("the secret must not be empty");
  if (!(body instanceof Uint8Array)) throw new TypeError("the body must be the raw bytes received");
  const found = lowerCase(headers);
  verifyContract(secrets, found, body);
  if (tolerance !== null) verifyStandard(secrets, found, body, tolerance, now);
}

/**
 * @param {string[]} secrets
 * @param {Map<string, string>} headers
 * @param {Uint8Array} body
 */
function verifyContract(secrets, headers, body) {
  const current = headers.get("x-signature-256");
  if (current === undefined) throw new SignatureError("The X-Signature-256 header is missing.");
  const expected = secrets.map((one) => createHmac("sha256", one).update(body).digest("hex"));
  if (!anyEqual(expected, [current, headers.get("x-signature-256-previous") ?? ""])) {
    throw new SignatureError("X-Signature-256 does not match the body and secret.");
  }
}

/**
 * @param {string[]} secrets
 * @param {Map<string, string>} headers
 * @param {Uint8Array} body
 * @param {number} tolerance
 * @param {number} now
 */
function verifyStandard(secrets, headers, body, tolerance, now) {
  const [id, sent, given] = ["id", "timestamp", "signature"].map((name) => {
    const value = headers.get(`webhook-${name}`);
    if (value === undefined) throw new SignatureError(`The webhook-${name} header is missing.`);
    return value;
  });
  if (!/^\d+$/.test(sent) || Math.abs(now - Number(sent)) > tolerance) {
    throw new SignatureError("webhook-timestamp differs too much from the local clock.");
  }
  const expected = secrets.map(
    (one) => `v1,${createHmac("sha256", keyOf(one)).update(`${id}.${sent}.`).update(body).digest("base64")}`,
  );
  if (!anyEqual(expected, given.split(" "))) {
    throw new SignatureError("webhook-signature does not match the body and secret.");
  }
}

/**
 * Compare all pairs in a time that does not depend on the expected values.
 *
 * @param {string[]} expected
 * @param {string[]} given
 */
function anyEqual(expected, given) {
  let found = false;
  for (const one of given.map((text) => Buffer.from(text))) {
    for (const other of expected.map((text) => Buffer.from(text))) {
      found = (one.length === other.length && timingSafeEqual(one, other)) || found;
    }
  }
  return found;
}

/**
 * Return the key of a secret. The part after `whsec_` is base64.
 *
 * @param {string} secret
 */
function keyOf(secret) {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
  return text && isBase64 ? Buffer.from(text, "base64") : Buffer.from(secret);
}

/**
 * @param {GivenHeaders} headers
 * @returns {Map<string, string>}
 */
function lowerCase(headers) {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return new Map(
    entries.flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), [value].flat().join(", ")]])),
  );
}

/**
 * Return the event in a verified body. `event.event` is the event name. Later releases may send
 * events with other names. Respond to such events with 2xx as well.
 *
 * @param {Uint8Array} body
 * @returns {Event}
 */
export function parse(body) {
  let event;
  try {
    event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new EventError("The body is not valid JSON.", { cause });
  }
  if (typeof event !== "object" || event === null || !["id", "event", "createdAt", "data"].every((name) => name in event)) {
    throw new EventError("The body is not a Platestream event.");
  }
  return event;
}

/**
 * Remembers event IDs, by default for three days, to detect duplicates. The IDs are stored in the
 * memory of one process. With several receivers, or to survive a restart, store the IDs in your
 * database instead, with a unique key and in the same transaction as the work.
 */
export class Seen {
  /** @type {Map<string, number>} */
  #until = new Map();
  #seconds;
  #atMost;

  /** @param {{seconds?: number, atMost?: number}} [bounds] */
  constructor({ seconds = 3 * 86400, atMost = 100_000 } = {}) {
    this.#seconds = seconds;
    this.#atMost = atMost;
  }

  /**
   * Call `work` unless the event is a duplicate, and return whether the event was new. If `work`
   * throws, the ID is removed, so that a retry of the event counts as new.
   *
   * @param {string} id
   * @param {() => unknown} work
   */
  async once(id, work) {
    if (!this.#add(id)) return false;
    try {
      await work();
    } catch (error) {
      this.#until.delete(id);
      throw error;
    }
    return true;
  }

  /** @param {string} id */
  #add(id) {
    const now = performance.now() / 1000;
    for (const [one, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(one);
    }
    if (this.#until.has(id)) return false;
    this.#until.set(id, now + this.#seconds);
    if (this.#until.size > this.#atMost) this.#until.delete(/** @type {string} */ (this.#until.keys().next().value));
    return true;
  }
}
