/** Exports the client of the API: `new Client({ baseUrl, apiKey })`. */

import { Http } from "./http.js";
import { Recognitions } from "./recognitions.js";
import { Account, Alerts, ApiKeys, Cameras, Webhooks } from "./resources.js";

export { ApiError, PlatestreamError, StreamGapError, UnreachableError } from "./errors.js";

/**
 * @typedef {import("./schema.js").components["schemas"]} Schemas
 * @typedef {import("./http.js").Options} Options
 * @typedef {import("./recognitions.js").ExportPart} ExportPart
 * @typedef {import("./resource.js").Picture} Picture
 */

/** Retries reads after network and server errors, and other calls only if they were certainly not executed. */
export class Client {
  /** @param {Options} [options] */
  constructor(options = {}) {
    const http = new Http(options);
    this.recognitions = new Recognitions(http);
    this.cameras = new Cameras(http);
    this.alerts = new Alerts(http);
    this.webhooks = new Webhooks(http);
    this.apiKeys = new ApiKeys(http);
    this.account = new Account(http);
  }
}
