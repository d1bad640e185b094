/** @file Requests to the public API, with the session's cookie. */

import { signal } from "./signal.js";
import { t, translated } from "./words.js";

/**
 * A request that failed or was rejected.
 * `status` is 0 if there was no response.
 */
export class Failure extends Error {
  /**
   * @param {number} status
   * @param {{error?: string, code?: string, requestId?: string, retryAfter?: number, fields?: {path: string, message: string}[]}} body
   */
  constructor(status, body) {
    super(sentence(status, body));
    this.status = status;
    this.code = body.code ?? "";
    this.requestId = body.requestId ?? "";
    this.retryAfter = body.retryAfter ?? 0;
    this.fields = (body.fields ?? []).map(({ path, message }) => ({ path, message: translated(message) }));
  }

  /** Whether the same request may succeed later: the network, the server or a rate limit caused the failure. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** @param {string} path */
  fault(path) {
    return this.fields.find((field) => field.path === path || field.path.startsWith(`${path}.`))?.message;
  }
}

/** @param {number} status @param {{error?: string, code?: string}} body */
function sentence(status, body) {
  if (status === 0) return t("Can't reach the server. Check your connection.");
  const known = BY_CODE[body.code ?? ""];
  return known ? known(body.error ?? "") : (translated(body.error ?? "") || t("The server returned an error ({status}). Try again; if it keeps happening, contact your server administrator.", { status }));
}

/** The sentences of `rate_limited` that name no limit. */
const GENERIC_RATE_LIMIT = /^(The request limit was reached|Rate limit exceeded)/;

/** Messages for people instead of the API's, by error code. @type {Record<string, (error: string) => string>} */
const BY_CODE = {
  invalid_request: () => t("Some fields aren't valid. Check the highlighted fields."),
  // Other sentences name the limit that was reached.
  rate_limited: (error) => (!error || GENERIC_RATE_LIMIT.test(error) ? t("Too many requests. Wait a moment and try again.") : translated(error)),
  limit_reached: (error) => `${translated(error)} ${t("If you need more, ask your server administrator to raise the limit.")}`,
  not_found: () => t("Not found. It may have been deleted."),
  invalid_cursor: () => t("This page of results is no longer valid. Go back to the first page."),
  dependency_unavailable: () => t("Part of the service is down. Check Health, then try again."),
  // Another sentence names the address at which the identity provider can be used.
  cross_site_request: (error) => (error.startsWith("Log in with ") ? translated(error) : t("This request was blocked because it came from another site. Reload the page and try again.")),
  body_too_large: () => t("Too much data in one request. Shorten it and try again."),
  temporarily_blocked: () => t("Too many requests: this session is blocked for a few minutes. Try again later."),
  internal_error: () => t("Something went wrong on the server. Try again."),
  service_busy: () => t("The server is busy. Wait a moment and try again."),
  agent_unavailable: () => t("No ingest worker responded within 5 seconds, so the camera wasn't saved. Check under Health that ingest is running."),
  duplicate_identifier: () => t("A camera with this stream URL or identifier already exists."),
  insufficient_credits: () => t("Not enough credits. Ask your server administrator to add more."),
  missing_scope: () => t("Your role doesn't allow this. Ask an account administrator for access."),
  person_exists: () => t("This email address is already in use."),
  last_administrator: () => t("This is the only administrator. Make someone else an administrator first."),
  invitation_for_another: () => t("This invitation is for a different email address than your single sign-on address."),
  log_in_expired: () => t("This login expired or was started in another browser. Start again."),
  log_in_refused: () => t("The single sign-on response wasn't valid. Start again."),
  email_not_verified: () => t("Your identity provider hasn't verified your email address. Verify it there, then log in again."),
  email_domain_refused: () => t("Single sign-on isn't allowed for your email domain. Ask your server administrator."),
  unknown_person: () => t("There is no login for your email address. Ask an account administrator for an invitation."),
  person_switched_off: () => t("Your access is disabled. Ask an account administrator to enable it."),
  bound_to_another: () => t("Your email address is linked to a different single sign-on identity. Ask an account administrator to unlink it, or to remove that person and invite you."),
  password_log_in_off: () => t("Password login is disabled. Use single sign-on."),
  too_many_streams: () => t("Too many live views are open. Close one and try again."),
};

/** Why the last request did not reach the server, or "". */
export const outage = signal("");

/** Called when a response says that the session has ended. @type {() => void} */
let sessionEnded = () => {};

/** @param {() => void} handler */
export function onSessionEnd(handler) {
  sessionEnded = handler;
}

/** Called when a response says that the role lacks a scope. @type {() => void} */
let scopeMissing = () => {};

/** @param {() => void} handler */
export function onMissingScope(handler) {
  scopeMissing = handler;
}

/** The requests that remain within the session's rate limits. Images have a separate limit. */
const budgets = { calls: { left: Infinity, freeAt: 0 }, images: { left: Infinity, freeAt: 0 } };
const IMAGE_PATH = /\/(photo|crop|snapshot)(\?|$)/;
/** Requests reserved for forms and lists. */
const RESERVED = 25;

/**
 * Returns whether a request that can wait may be sent now.
 * @param {"calls" | "images"} kind
 */
export function hasBudget(kind) {
  return budgets[kind].left > RESERVED || Date.now() >= budgets[kind].freeAt;
}

/** @param {string} path @param {Response} answer */
function updateBudget(path, answer) {
  const left = answer.headers.get("RateLimit-Remaining");
  if (left === null) return;
  const seconds = Number(answer.headers.get("Retry-After") ?? answer.headers.get("RateLimit-Reset") ?? 1);
  budgets[IMAGE_PATH.test(path) ? "images" : "calls"] = { left: Number(left), freeAt: Date.now() + Math.max(1, seconds) * 1000 };
}

/**
 * Sends a request and returns the response, whatever its status.
 * @param {string} method
 * @param {string} path with its query
 * @param {{body?: unknown, csv?: Blob, signal?: AbortSignal, headers?: Record<string, string>}} [options]
 */
export async function request(method, path, { body, csv, signal: abort, headers } = {}) {
  const type = csv ? "text/csv" : body === undefined ? "" : "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal: abort,
      headers: { ...headers, ...(type && { "Content-Type": type }) },
      body: csv ?? (body === undefined ? undefined : JSON.stringify(body)),
    });
  } catch (error) {
    if (abort?.aborted) throw error;
    outage.value = t("Can't reach the server.");
    throw new Failure(0, {});
  }
  outage.value = "";
  updateBudget(path, answer);
  return answer;
}

/**
 * Sends a request and returns the JSON of the response, or null if the response is empty.
 * @param {string} method
 * @param {string} path
 * @param {{query?: Record<string, unknown>, body?: unknown, csv?: Blob, signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 * @throws {Failure}
 */
export async function call(method, path, { query, body, csv, signal: abort } = {}) {
  const answer = await request(method, path + queryText(query), { body, csv, signal: abort });
  const json = await jsonOf(answer);
  if (answer.ok) return json;
  throw refusal(method, path, answer.status, json);
}

/**
 * Returns a text file and the headers of the response, once it is complete.
 * @param {string} path
 * @param {Record<string, unknown>} query
 * @throws {Failure} also if the response is cut off
 */
export async function file(path, query) {
  const answer = await request("GET", path + queryText(query));
  if (answer.ok) {
    const text = await answer.text().catch(() => {
      throw new Failure(0, {});
    });
    return { text, headers: answer.headers };
  }
  throw refusal("GET", path, answer.status, await jsonOf(answer));
}

/** @param {Response} answer */
async function jsonOf(answer) {
  const text = await answer.text();
  return text && answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : null;
}

/** @param {string} method @param {string} path @param {number} status @param {any} json */
function refusal(method, path, status, json) {
  if (status === 401 && !(method === "POST" && path === "/api/session")) sessionEnded();
  const failure = new Failure(status, json ?? {});
  if (failure.code === "missing_scope") scopeMissing();
  return failure;
}

/** @param {string} path @param {Record<string, unknown>} [query] @param {AbortSignal} [abort] */
export const get = (path, query, abort) => call("GET", path, { query, signal: abort });

/**
 * @param {Record<string, unknown>} [query] empty values are omitted
 */
export function queryText(query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
