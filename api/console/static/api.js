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
  if (status === 0) return t("The service cannot be reached.");
  const known = BY_CODE[body.code ?? ""];
  return known ? known() : (body.error ?? t("The service answered with an error ({status}).", { status }));
}

/** Sentences that are better said for a page than for a program. @type {Record<string, () => string>} */
const BY_CODE = {
  invalid_request: () => t("Some fields are not right; see below."),
  rate_limited: () => t("Too many requests at once; it goes on in a moment."),
  temporarily_blocked: () => t("Far too many requests: the session is blocked for a few minutes."),
  internal_error: () => t("Something went wrong in the service."),
  service_busy: () => t("The service is busy; it goes on in a moment."),
  agent_unavailable: () => t("No ingest worker took the camera within five seconds; nothing was kept. Is one running?"),
  duplicate_identifier: () => t("There is a camera with the same address or identifier already."),
  insufficient_credits: () => t("There are not enough credits for this."),
  missing_scope: () => t("Your role does not allow this; an administrator of the account can give you another."),
  person_exists: () => t("Somebody logs in with this address already."),
  last_administrator: () => t("Nobody else administers the account: make somebody else an administrator first."),
  invitation_for_another: () => t("The invitation is for another e-mail address than the provider's."),
  log_in_expired: () => t("The log-in was begun in another browser, or more than ten minutes ago. Begin again."),
  log_in_refused: () => t("What the provider answered is not good. Begin again."),
  email_not_verified: () => t("The provider has not verified your e-mail address."),
  email_domain_refused: () => t("With an e-mail address of its domain nobody logs in by the provider here."),
  unknown_person: () => t("Nobody with your e-mail address logs in here. Ask an administrator of the account for an invitation."),
  person_switched_off: () => t("Your log-in is switched off. Ask an administrator of the account."),
  bound_to_another: () => t("Somebody else at the provider logs in with your e-mail address here. An administrator can unbind that person, or remove them and invite you."),
  password_log_in_off: () => t("Nobody logs in with a password here."),
  too_many_streams: () => t("Too many live views are open; close one."),
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
    outage.value = t("The service cannot be reached.");
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
