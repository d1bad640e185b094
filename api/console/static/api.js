/** @file Calls of the public API, with the session's cookie. */

import { signal } from "./signal.js";
import { t } from "./words.js";

/**
 * What the API, or the way to it, refused.
 * `status` is 0 where no answer came.
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
    this.fields = body.fields ?? [];
  }

  /** Whether the same call may do later: the way, the service or the limit is at fault. */
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
  return known ? known(body.error ?? "") : (body.error ?? t("The server returned an error ({status}). Try again; if it keeps happening, contact your server administrator.", { status }));
}

/** The sentence of `rate_limited` that names no limit. */
const GENERIC_RATE_LIMIT = /^(The request limit was reached|Rate limit exceeded)/;

/** Messages for people instead of the API's, by error code. @type {Record<string, (error: string) => string>} */
const BY_CODE = {
  invalid_request: () => t("Some fields aren't valid. Check the highlighted fields."),
  // Other sentences name the limit that was reached.
  rate_limited: (error) => (!error || GENERIC_RATE_LIMIT.test(error) ? t("Too many requests. Wait a moment and try again.") : error),
  limit_reached: (error) => `${error} ${t("Delete some first, or ask your server administrator to raise the limit.")}`,
  not_found: () => t("Not found. It may have been deleted."),
  invalid_cursor: () => t("This page of results is no longer valid. Go back to the first page."),
  dependency_unavailable: () => t("Part of the service is down. Check Health, then try again."),
  cross_site_request: () => t("This request was blocked because it came from another site. Reload the page and try again."),
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

/** Whether the service was reached by the last call: "" or a sentence. */
export const outage = signal("");

/** Called where a call says that there is no session any more. @type {() => void} */
let sessionEnded = () => {};

/** @param {() => void} handler */
export function onSessionEnd(handler) {
  sessionEnded = handler;
}

/** Called where a call says that the role does not allow it (any more). @type {() => void} */
let rightLacked = () => {};

/** @param {() => void} handler */
export function onRightLack(handler) {
  rightLacked = handler;
}

/** What the limits of requests leave to the session: pictures have one of their own. */
const budgets = { calls: { left: Infinity, freeAt: 0 }, pictures: { left: Infinity, freeAt: 0 } };
const PICTURE = /\/(photo|crop|snapshot)(\?|$)/;
/** So many are left to forms and lists. */
const RESERVED = 25;

/**
 * Whether what can wait may go: pictures, explanations.
 * @param {"calls" | "pictures"} kind
 */
export function hasBudget(kind) {
  return budgets[kind].left > RESERVED || Date.now() >= budgets[kind].freeAt;
}

/** @param {string} path @param {Response} answer */
function noteBudget(path, answer) {
  const left = answer.headers.get("RateLimit-Remaining");
  if (left === null) return;
  const seconds = Number(answer.headers.get("Retry-After") ?? answer.headers.get("RateLimit-Reset") ?? 1);
  budgets[PICTURE.test(path) ? "pictures" : "calls"] = { left: Number(left), freeAt: Date.now() + Math.max(1, seconds) * 1000 };
}

/**
 * Sends a request and returns the answer, whatever its status.
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
  noteBudget(path, answer);
  return answer;
}

/**
 * Sends a request and returns the JSON of its answer, null where it has none.
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
 * Returns a file of text and the headers of the answer, once all of it has come.
 * @param {string} path
 * @param {Record<string, unknown>} query
 * @throws {Failure} also where the answer is cut
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
  if (failure.code === "missing_scope") rightLacked();
  return failure;
}

/** @param {string} path @param {Record<string, unknown>} [query] @param {AbortSignal} [abort] */
export const get = (path, query, abort) => call("GET", path, { query, signal: abort });

/**
 * @param {Record<string, unknown>} [query] empty values are left out
 */
export function queryText(query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
