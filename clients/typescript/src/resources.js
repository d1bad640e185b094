/** Defines the other resources of the API. */

import { PAGE, Resource, field, json, nothing, page, path, picture } from "./resource.js";

/**
 * @typedef {import("./schema.js").components["schemas"]} Schemas
 * @typedef {import("./recognitions.js").Span} Span
 */

/**
 * @typedef {object} Deliveries
 * @property {number} [limit]
 * @property {Schemas["AttemptOutcome"]} [outcome]
 * @property {Date | string} [from] only deliveries of events since this time
 * @property {Date | string} [before] only deliveries last attempted before this time
 */

/** Methods for cameras. */
export class Cameras extends Resource {
  /** @returns {AsyncGenerator<Schemas["CameraBody"], void, undefined>} all cameras, newest first */
  all() {
    return this.pages("/api/cameras", page("cameras"), { limit: PAGE });
  }

  /**
   * @param {string} id
   * @returns {Promise<Schemas["CameraBody"]>}
   */
  get(id) {
    return this.call("GET", path("/api/cameras/{}", id), field("camera"));
  }

  /**
   * Create a camera. Resolves once an ingest worker has accepted the camera.
   *
   * @param {Schemas["CameraCreate"]} camera
   * @returns {Promise<Schemas["CameraBody"]>}
   */
  create(camera) {
    return this.call("POST", "/api/cameras", field("camera"), { json: camera });
  }

  /**
   * @param {string} id
   * @param {Schemas["CameraUpdate"]} changes
   * @returns {Promise<Schemas["CameraBody"]>}
   */
  update(id, changes) {
    return this.call("PUT", path("/api/cameras/{}", id), field("camera"), { json: changes });
  }

  /**
   * Delete a camera. Its recognitions remain stored.
   *
   * @param {string} id
   * @returns {Promise<Schemas["CameraDeleted"]>}
   */
  delete(id) {
    return this.call("DELETE", path("/api/cameras/{}", id), json);
  }

  /**
   * Test a stream URL. Nothing is stored.
   *
   * @param {Schemas["CameraTest"]} address
   * @returns {Promise<Schemas["CameraTestBody"]>}
   */
  test(address) {
    return this.call("POST", "/api/cameras/test", field("test"), { json: address });
  }

  /**
   * Find the ONVIF cameras in the API server's networks, or the camera at `address`.
   *
   * @param {string} [address]
   * @returns {Promise<Schemas["FoundCameras"]>}
   */
  discover(address = "") {
    return this.call("POST", "/api/cameras/discover", json, { json: { address } });
  }

  /**
   * Return the video streams of a found camera.
   *
   * @param {Schemas["CameraLogin"]} camera
   * @returns {Promise<Schemas["FoundStreams"]>}
   */
  discoverStreams(camera) {
    return this.call("POST", "/api/cameras/discover/streams", json, { json: camera });
  }

  /**
   * Return the cameras in a CSV file, as bodies for `create`. Nothing is stored.
   *
   * @param {Uint8Array | Blob} data
   * @param {{encoding?: Schemas["FileEncoding"]}} [options]
   * @returns {Promise<Schemas["CameraImportAnswer"]>}
   */
  readCsv(data, options = {}) {
    return this.call("POST", "/api/cameras/import", json, { csv: data, query: { ...options } });
  }

  /**
   * Return hourly counts of a camera's frames, plates and vehicles.
   *
   * @param {string} id
   * @param {Span} [span]
   * @returns {Promise<Schemas["CameraFunnel"]>}
   */
  funnel(id, span = {}) {
    return this.call("GET", path("/api/cameras/{}/funnel", id), json, { query: { ...span } });
  }

  /**
   * Return the latest frame of a camera.
   *
   * @param {string} id
   * @param {{width?: number}} [size]
   */
  snapshot(id, size = {}) {
    return this.call("GET", path("/api/cameras/{}/snapshot", id), picture, { query: { ...size } });
  }
}

/** Methods for alerts and their deliveries. */
export class Alerts extends Resource {
  /** @returns {AsyncGenerator<Schemas["AlertBody"], void, undefined>} all alerts, newest first */
  all() {
    return this.pages("/api/alertas", page("alerts"), { limit: PAGE });
  }

  /**
   * @param {string} id
   * @returns {Promise<Schemas["AlertBody"]>}
   */
  get(id) {
    return this.call("GET", path("/api/alertas/{}", id), field("alert"));
  }

  /**
   * @param {Schemas["AlertCreate"]} alert
   * @returns {Promise<Schemas["AlertBody"]>}
   */
  create(alert) {
    return this.call("POST", "/api/alertas", field("alert"), { json: alert });
  }

  /**
   * @param {string} id
   * @param {Schemas["AlertUpdate"]} changes
   * @returns {Promise<Schemas["AlertBody"]>}
   */
  update(id, changes) {
    return this.call("PUT", path("/api/alertas/{}", id), field("alert"), { json: changes });
  }

  /** @param {string} id */
  delete(id) {
    return this.call("DELETE", path("/api/alertas/{}", id), nothing);
  }

  /**
   * Return the plates in a CSV file and the skipped rows. Nothing is stored.
   *
   * @param {Uint8Array | Blob} data
   * @param {{encoding?: Schemas["FileEncoding"]}} [options]
   * @returns {Promise<Schemas["PlateImportAnswer"]>}
   */
  readCsv(data, options = {}) {
    return this.call("POST", "/api/alertas/plates/import", json, { csv: data, query: { ...options } });
  }

  /**
   * Return the past recognitions that would have triggered an alert.
   *
   * @param {Schemas["AlertTest"]} alert
   * @returns {Promise<Schemas["AlertTestResult"]>}
   */
  test(alert) {
    return this.call("POST", "/api/alertas/test", json, { json: alert });
  }

  /**
   * Return the deliveries of an alert's notifications, most recently attempted first.
   *
   * @param {string} id
   * @param {Deliveries} [query]
   * @returns {Promise<Schemas["DeliveryBody"][]>}
   */
  deliveries(id, query = {}) {
    return this.call("GET", path("/api/alertas/{}/deliveries", id), field("deliveries"), { query: { ...query } });
  }

  /**
   * Return the triggers of an alert, newest first.
   *
   * @param {string} id
   * @returns {AsyncGenerator<Schemas["AlertTriggerBody"], void, undefined>}
   */
  triggers(id) {
    return this.pages(path("/api/alertas/{}/triggers", id), page("triggers"), { limit: PAGE });
  }

  /**
   * @param {string} id
   * @param {string} deliveryId
   * @returns {Promise<Schemas["QueuedBody"]>}
   */
  redeliver(id, deliveryId) {
    const address = path("/api/alertas/{}/deliveries/{}/redeliver", id, deliveryId);
    return this.call("POST", address, field("delivery"), { json: {} });
  }

  /**
   * Replace the secret that signs notifications to URLs. During the overlap, both secrets sign.
   *
   * @param {Schemas["RotateSecret"]} [rotation]
   * @returns {Promise<Schemas["NotificationSecretAnswer"]>}
   */
  rotateNotificationSecret(rotation = {}) {
    return this.call("POST", "/api/alertas/rotate-notification-secret", json, { json: rotation });
  }

  /**
   * Send a test event through one of an alert's notifications.
   *
   * @param {string} id
   * @param {Schemas["NotificationTest"]} [test]
   * @returns {Promise<Schemas["QueuedBody"][]>}
   */
  testNotifications(id, test = {}) {
    return this.call("POST", path("/api/alertas/{}/notifications/test", id), field("deliveries"), { json: test });
  }
}

/** Methods for webhooks and their deliveries. */
export class Webhooks extends Resource {
  /** @returns {AsyncGenerator<Schemas["WebhookBody"], void, undefined>} all webhooks, newest first */
  all() {
    return this.pages("/api/webhooks", page("webhooks"), { limit: PAGE });
  }

  /**
   * @param {string} id
   * @returns {Promise<Schemas["WebhookBody"]>}
   */
  get(id) {
    return this.call("GET", path("/api/webhooks/{}", id), field("webhook"));
  }

  /**
   * Create a webhook. The result contains the signing secret.
   *
   * @param {Schemas["WebhookCreate"]} webhook
   * @returns {Promise<Schemas["WebhookBody"]>}
   */
  create(webhook) {
    return this.call("POST", "/api/webhooks", field("webhook"), { json: webhook });
  }

  /**
   * @param {string} id
   * @param {Schemas["WebhookUpdate"]} changes
   * @returns {Promise<Schemas["WebhookBody"]>}
   */
  update(id, changes) {
    return this.call("PUT", path("/api/webhooks/{}", id), field("webhook"), { json: changes });
  }

  /** @param {string} id */
  delete(id) {
    return this.call("DELETE", path("/api/webhooks/{}", id), nothing);
  }

  /**
   * Replace the signing secret. During the overlap, the old secret also signs.
   *
   * @param {string} id
   * @param {Schemas["RotateSecret"]} [rotation]
   * @returns {Promise<Schemas["WebhookBody"]>}
   */
  rotateSecret(id, rotation = {}) {
    return this.call("POST", path("/api/webhooks/{}/rotate-secret", id), field("webhook"), { json: rotation });
  }

  /**
   * Return the deliveries of a webhook, most recently attempted first.
   *
   * @param {string} id
   * @param {Deliveries} [query]
   * @returns {Promise<Schemas["DeliveryBody"][]>}
   */
  deliveries(id, query = {}) {
    return this.call("GET", path("/api/webhooks/{}/deliveries", id), field("deliveries"), { query: { ...query } });
  }

  /**
   * @param {string} id
   * @param {string} deliveryId
   * @returns {Promise<Schemas["QueuedBody"]>}
   */
  redeliver(id, deliveryId) {
    const address = path("/api/webhooks/{}/deliveries/{}/redeliver", id, deliveryId);
    return this.call("POST", address, field("delivery"), { json: {} });
  }

  /**
   * Send a test event.
   *
   * @param {string} id
   * @param {Schemas["SendTest"]} [test]
   * @returns {Promise<Schemas["QueuedBody"]>}
   */
  test(id, test = {}) {
    return this.call("POST", path("/api/webhooks/{}/test", id), field("delivery"), { json: test });
  }

  /**
   * Replay the events of a time range.
   *
   * @param {string} id
   * @param {Required<Span>} span
   * @returns {Promise<Schemas["ReplayAnswer"]>}
   */
  replay(id, span) {
    return this.call("POST", path("/api/webhooks/{}/replay", id), json, { json: span });
  }
}

/** Methods for API keys. */
export class ApiKeys extends Resource {
  /** @returns {AsyncGenerator<Schemas["ApiKeyBody"], void, undefined>} all API keys, newest first */
  all() {
    return this.pages("/api/api-keys", page("apiKeys"), { limit: PAGE });
  }

  /**
   * @param {string} id
   * @returns {Promise<Schemas["ApiKeyBody"]>}
   */
  get(id) {
    return this.call("GET", path("/api/api-keys/{}", id), field("apiKey"));
  }

  /**
   * Create an API key. Only this result contains the complete key, `plainKey`.
   *
   * @param {Schemas["ApiKeyCreate"]} key
   * @returns {Promise<Schemas["NewApiKeyAnswer"]>}
   */
  create(key) {
    return this.call("POST", "/api/api-keys", json, { json: key });
  }

  /**
   * @param {string} id
   * @param {Schemas["ApiKeyUpdate"]} changes
   * @returns {Promise<Schemas["ApiKeyBody"]>}
   */
  update(id, changes) {
    return this.call("PUT", path("/api/api-keys/{}", id), field("apiKey"), { json: changes });
  }

  /** @param {string} id */
  revoke(id) {
    return this.call("DELETE", path("/api/api-keys/{}", id), nothing);
  }
}

/** Methods for the account: credits, analytics, audit log and session. */
export class Account extends Resource {
  /** @returns {Promise<Schemas["CreditsBody"]>} the credit balance and the most recent transactions */
  credits() {
    return this.call("GET", "/api/credits", json);
  }

  /** @returns {Promise<Schemas["AnalyticsBody"]>} the analytics of the last 30 days */
  analytics() {
    return this.call("GET", "/api/analytics", json);
  }

  /**
   * Return the audit log entries, newest first.
   *
   * @param {Span & {action?: string, actor?: string, subject?: string, pageSize?: number}} [filters]
   * @returns {AsyncGenerator<Schemas["AuditEntryBody"], void, undefined>}
   */
  audit({ pageSize = PAGE, ...filters } = {}) {
    return this.pages("/api/audit", page("entries"), { ...filters, limit: pageSize });
  }

  /** @returns {Promise<Schemas["SessionBody"]>} the account, scopes and limits of the key */
  session() {
    return this.call("GET", "/api/session", field("session"));
  }
}
