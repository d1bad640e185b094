/** Defines the recognitions resource. */

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
 * @property {Date | string} [from] inclusive
 * @property {Date | string} [to] exclusive
 */

/**
 * @typedef {object} ExportPart
 * @property {Uint8Array} content a complete file
 * @property {string | null} nextKey cursor of the next file, or null
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

/** Methods for recognitions, corrections, erasures and image calls. */
export class Recognitions extends Resource {
  /**
   * Return all matching recognitions, newest first.
   *
   * @param {Filters & Span & {corrected?: boolean, pageSize?: number}} [filters]
   * @returns {AsyncGenerator<Schemas["RecognitionBody"], void, undefined>}
   */
  search({ pageSize = PAGE, ...filters } = {}) {
    return this.pages("/api/recognitions", page("recognitions"), { ...filters, limit: pageSize });
  }

  /**
   * Return new recognitions as they arrive. A broken connection is resumed without loss or repetition.
   *
   * @param {Filters & Watching} [given]
   */
  stream({ onGap, signal, ...filters } = {}) {
    return follow(this.http, { ...filters }, { onGap, signal });
  }

  /**
   * Return files of at most `rows` recognitions, newest first. Usually, one file is enough.
   *
   * @param {Filters & Span & {format?: Schemas["ExportFormat"], excel?: boolean, separator?: Schemas["Separator"], rows?: number, lastKey?: string}} [filters]
   */
  export({ rows = EXPORT_PAGE, ...filters } = {}) {
    return this.pages("/api/recognitions/export", exportPart, { ...filters, limit: rows });
  }

  /**
   * Return a recognition. Image fields are URLs valid for one hour.
   *
   * @param {string} id
   * @returns {Promise<Schemas["RecognitionBody"]>}
   */
  get(id) {
    return this.call("GET", path("/api/recognitions/{}", id), field("recognition"));
  }

  /**
   * Return the photo of a recognition, or a thumbnail of the given width.
   *
   * @param {string} id
   * @param {{width?: number}} [size]
   */
  photo(id, size = {}) {
    return this.call("GET", path("/api/recognitions/{}/photo", id), picture, { query: { ...size } });
  }

  /**
   * Return the plate crop of a recognition.
   *
   * @param {string} id
   * @param {{width?: number}} [size]
   */
  crop(id, size = {}) {
    return this.call("GET", path("/api/recognitions/{}/crop", id), picture, { query: { ...size } });
  }

  /**
   * Return whether and why each alert triggered for a recognition.
   *
   * @param {string} id
   * @returns {Promise<Schemas["ExplainedAlert"][]>}
   */
  alerts(id) {
    return this.call("GET", path("/api/recognitions/{}/alerts", id), field("alerts"));
  }

  /**
   * Return the deliveries of a recognition and of the alerts that it triggered.
   *
   * @param {string} id
   * @param {{limit?: number}} [query]
   * @returns {Promise<Schemas["RecognitionDeliveryBody"][]>}
   */
  deliveries(id, query = {}) {
    return this.call("GET", path("/api/recognitions/{}/deliveries", id), field("deliveries"), { query: { ...query } });
  }

  /**
   * Store the correct plate of a recognition. The original reading is not changed.
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
   * Return all corrections, newest recognition first.
   *
   * @param {{plate?: string, pageSize?: number}} [filters]
   * @returns {AsyncGenerator<Schemas["CorrectedBody"], void, undefined>}
   */
  corrections({ pageSize = PAGE, ...filters } = {}) {
    return this.pages("/api/corrections", page("corrections"), { ...filters, limit: pageSize });
  }

  /**
   * Start the permanent erasure of all data captured for a plate so far. Return the erasure.
   *
   * @param {string} plate
   * @returns {Promise<Schemas["ErasureBody"]>}
   */
  erase(plate) {
    return this.call("POST", "/api/erasures", field("erasure"), { json: { plate } });
  }

  /** @returns {AsyncGenerator<Schemas["ErasureBody"], void, undefined>} the account's erasures, newest first; completed erasures are listed for 90 days */
  erasures() {
    return this.pages("/api/erasures", page("erasures"), { limit: PAGE });
  }

  /**
   * Return the state of an erasure.
   *
   * @param {string} id
   * @returns {Promise<Schemas["ErasureBody"]>}
   */
  erasure(id) {
    return this.call("GET", path("/api/erasures/{}", id), field("erasure"));
  }

  /**
   * Read the plates in a JPEG or PNG image. This costs one credit. An idempotency key is generated,
   * so that retries are not charged again.
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
