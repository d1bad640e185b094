/** The resource of the plates that were read. */

import { PAGE, Resource, bytes, field, json, nothing, page, path, picture } from "./resource.js";
import { follow } from "./stream.js";

/**
 * @typedef {import("./schema.js").components["schemas"]} Schemas
 * @typedef {import("./stream.js").Watching} Watching
 */

/**
 * @typedef {object} Filters
 * @property {string} [plate]
 * @property {Schemas["MatchMode"]} [match]
 * @property {string} [cameraId]
 * @property {number} [minConfidence]
 */

/**
 * @typedef {object} Span
 * @property {Date | string} [from] from this moment on
 * @property {Date | string} [to] before this moment
 */

/**
 * @typedef {object} ExportPart
 * @property {Uint8Array} content a file, whole in itself
 * @property {string | null} nextKey where the next one begins
 */

const EXPORT_PAGE = 100_000;

/**
 * @param {Response} answer
 * @returns {Promise<{items: ExportPart[], nextKey: string | null}>}
 */
const exportPart = async (answer) => {
  const nextKey = answer.headers.get("X-Next-Key");
  return { items: [{ content: await bytes(answer), nextKey }], nextKey };
};

/** The plates that were read. */
export class Recognitions extends Resource {
  /**
   * All recognitions that fit, newest first.
   *
   * @param {Filters & Span & {corrected?: boolean, pageSize?: number}} [filters]
   * @returns {AsyncGenerator<Schemas["RecognitionBody"], void, undefined>}
   */
  search({ pageSize = PAGE, ...filters } = {}) {
    return this.pages("/api/recognitions", page("recognitions"), { ...filters, limit: pageSize });
  }

  /**
   * New recognitions as they come, for as long as they are read. A connection that ends is made
   * again where it ended, without loss and without repetition.
   *
   * @param {Filters & Watching} [given]
   */
  stream({ onGap, signal, ...filters } = {}) {
    return follow(this.http, { ...filters }, { onGap, signal });
  }

  /**
   * Files of at most `rows` recognitions, newest first; mostly it is one.
   *
   * @param {Filters & Span & {format?: Schemas["ExportFormat"], excel?: boolean, separator?: Schemas["Separator"], rows?: number, lastKey?: string}} [filters]
   */
  export({ rows = EXPORT_PAGE, ...filters } = {}) {
    return this.pages("/api/recognitions/export", exportPart, { ...filters, limit: rows });
  }

  /**
   * One recognition; its image fields are links that work for an hour.
   *
   * @param {string} id
   * @returns {Promise<Schemas["RecognitionBody"]>}
   */
  get(id) {
    return this.call("GET", path("/api/recognitions/{}", id), field("recognition"));
  }

  /**
   * The frame in which the plate was read, or a thumbnail of it.
   *
   * @param {string} id
   * @param {{width?: number}} [size]
   */
  photo(id, size = {}) {
    return this.call("GET", path("/api/recognitions/{}/photo", id), picture, { query: { ...size } });
  }

  /**
   * The picture of the plate.
   *
   * @param {string} id
   * @param {{width?: number}} [size]
   */
  crop(id, size = {}) {
    return this.call("GET", path("/api/recognitions/{}/crop", id), picture, { query: { ...size } });
  }

  /**
   * Which alerts fired for a recognition, and why the others did not.
   *
   * @param {string} id
   * @returns {Promise<Schemas["ExplainedAlert"][]>}
   */
  alerts(id) {
    return this.call("GET", path("/api/recognitions/{}/alerts", id), field("alerts"));
  }

  /**
   * What was sent of a recognition and of the alerts that it set off.
   *
   * @param {string} id
   * @param {{limit?: number}} [query]
   * @returns {Promise<Schemas["RecognitionDeliveryBody"][]>}
   */
  deliveries(id, query = {}) {
    return this.call("GET", path("/api/recognitions/{}/deliveries", id), field("deliveries"), { query: { ...query } });
  }

  /**
   * Write down what the plate really is, beside what was read.
   *
   * @param {string} id
   * @param {Schemas["WrittenCorrection"]} correction
   * @returns {Promise<Schemas["CorrectionBody"]>}
   */
  correct(id, correction) {
    return this.call("PUT", path("/api/recognitions/{}/correction", id), field("correction"), { json: correction });
  }

  /** @param {string} id */
  takeCorrectionBack(id) {
    return this.call("DELETE", path("/api/recognitions/{}/correction", id), nothing);
  }

  /**
   * All corrections, of the newest recognitions first.
   *
   * @param {{plate?: string, pageSize?: number}} [filters]
   * @returns {AsyncGenerator<Schemas["CorrectedBody"], void, undefined>}
   */
  corrections({ pageSize = PAGE, ...filters } = {}) {
    return this.pages("/api/corrections", page("corrections"), { ...filters, limit: pageSize });
  }

  /**
   * Have all that was captured of a plate until now erased for good; the job's beginning.
   *
   * @param {string} plate
   * @returns {Promise<Schemas["ErasureBody"]>}
   */
  erase(plate) {
    return this.call("POST", "/api/erasures", field("erasure"), { json: { plate } });
  }

  /** @returns {AsyncGenerator<Schemas["ErasureBody"], void, undefined>} the account's erasures, newest first; those done for 90 days */
  erasures() {
    return this.pages("/api/erasures", page("erasures"), { limit: PAGE });
  }

  /**
   * How far an erasure is.
   *
   * @param {string} id
   * @returns {Promise<Schemas["ErasureBody"]>}
   */
  erasure(id) {
    return this.call("GET", path("/api/erasures/{}", id), field("erasure"));
  }

  /**
   * Read the plates of a JPEG or PNG, for one credit. The call has an idempotency key, which is
   * made for you, and is paid once however often it has to be sent.
   *
   * @param {Uint8Array | Blob} image
   * @param {{store?: boolean, idempotencyKey?: string}} [how]
   * @returns {Promise<Schemas["RecognizeAnswer"]>}
   */
  async recognize(image, { store, idempotencyKey } = {}) {
    const key = idempotencyKey ?? (await uuid());
    const request = { method: "POST", path: "/api/recognize", query: { store }, image, idempotencyKey: key };
    return this.http.perform(request, json);
  }
}

/** Node.js 18 has no global crypto. */
async function uuid() {
  return globalThis.crypto?.randomUUID?.() ?? (await import("node:crypto")).randomUUID();
}
