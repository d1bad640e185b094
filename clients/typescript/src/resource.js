/** Defines the base class of the resources. */

/**
 * @typedef {import("./http.js").Http} Http
 * @typedef {import("./http.js").Given} Given
 */

/**
 * @typedef {object} Picture
 * @property {Uint8Array} content
 * @property {string} contentType
 */

export const PAGE = 200;

/** @param {Response} answer */
export const json = (answer) => answer.json();

/** @param {Response} answer */
export const bytes = async (answer) => new Uint8Array(await answer.arrayBuffer());

/** @param {Response} answer */
export const nothing = async (answer) => void (await answer.arrayBuffer());

/**
 * @param {Response} answer
 * @returns {Promise<Picture>}
 */
export const picture = async (answer) => ({
  content: await bytes(answer),
  contentType: answer.headers.get("Content-Type") ?? "",
});

/** @param {string} name */
export const field = (name) => async (/** @type {Response} */ answer) => (await answer.json())[name];

/** @param {string} name */
export const page = (name) => async (/** @type {Response} */ answer) => {
  const said = await answer.json();
  return { items: said[name], nextKey: said.nextKey ?? null };
};

/**
 * Return a path with the IDs in place of each `{}`.
 *
 * @param {string} template
 * @param {...string} ids
 */
export const path = (template, ...ids) => template.replace(/\{\}/g, () => encodeURIComponent(/** @type {string} */ (ids.shift())));

export class Resource {
  /** @param {Http} http */
  constructor(http) {
    /** @protected */
    this.http = http;
  }

  /**
   * @protected
   * @template T
   * @param {string} method
   * @param {string} address
   * @param {(answer: Response) => Promise<T>} take
   * @param {{query?: Record<string, Given>, json?: unknown, csv?: Uint8Array | Blob}} [more]
   */
  call(method, address, take, more = {}) {
    return this.http.perform({ method, path: address, ...more }, take);
  }

  /**
   * Yield the items of all pages. A page is requested only when it is needed.
   *
   * @protected
   * @template T
   * @param {string} address
   * @param {(answer: Response) => Promise<{items: T[], nextKey: string | null}>} take
   * @param {Record<string, Given>} query
   * @returns {AsyncGenerator<T, void, undefined>}
   */
  async *pages(address, take, query) {
    for (let lastKey = query.lastKey; ; ) {
      const { items, nextKey } = await this.call("GET", address, take, { query: { ...query, lastKey } });
      yield* items;
      if (nextKey === null) return;
      lastKey = nextKey;
    }
  }
}
