/** @file The session. Scripts cannot read the cookie, so the page stores who is logged in. */

import { call, onMissingScope, onSessionEnd } from "./api.js";
import { clearImages } from "./images.js";
import { unsaved } from "./router.js";
import { signal, useSignal } from "./signal.js";

const NOTE = "platestream.session";
const RETURN = "platestream.return";
/** Used instead of a scope for actions that only administrators can perform. */
export const ADMINISTRATOR = "administrator";

/** @typedef {{id: string, email: string, name: string, role: string, hasPassword: boolean}} Person */
/** @typedef {{email: string, person: Person, timezone: string, expiresAt: string | null, scopes: string[]}} Session */

/** `out`: the login page. `ended`: the login dialog over the page, which keeps its input. */
export const state = signal(/** @type {"out" | "in" | "ended"} */ (localStorage.getItem(NOTE) ? "in" : "out"));

/** The last known session, until the API has responded. */
export const session = signal(noted());

/** Number of logins on this page. Data that could not be loaded before is loaded after a login. */
export const logIns = signal(0);

onSessionEnd(() => {
  if (state.value === "in") state.value = "ended";
});

// The role may have changed. Hide the parts that the role no longer allows.
onMissingScope(() => void refreshSession().catch(() => {}));

/** Loads the session, if someone was logged in. */
export async function refreshSession() {
  const answer = await call("GET", "/api/session");
  // Ignore the response if the person has logged out in the meantime.
  if (state.value === "out") return;
  note(answer.session);
  enter(answer.session);
}

/** @param {string} email @param {string} password */
export async function logIn(email, password) {
  const answer = await call("POST", "/api/session", { body: { email, password } });
  note(answer.session);
  enter(answer.session);
}

/**
 * Sends a window to the identity provider, and stores the current page.
 * @param {Window} target
 * @param {string} [invitation] token of the invitation to accept
 */
export async function goToProvider(target, invitation) {
  const { url } = await call("POST", "/api/session/oidc", { body: { invitation } });
  sessionStorage.setItem(RETURN, invitation || target !== window ? "/" : location.pathname + location.search);
  target.location.assign(url);
}

/**
 * Completes a login with the identity provider, and returns the page from which the login started.
 * @param {{code?: string, state?: string, iss?: string}} given
 */
export async function logInWithProvider({ code, state: loginState = "", iss }) {
  const answer = await call("POST", "/api/session/oidc/return", { body: { code, state: loginState, iss } });
  const target = sessionStorage.getItem(RETURN) ?? "/";
  sessionStorage.removeItem(RETURN);
  // The URL is set before the page is shown, because the page reloads if another person was logged in.
  history.replaceState(null, "", target);
  note(answer.session);
  enter(answer.session);
  return target;
}

/**
 * Shows the page to the person who has logged in.
 * @param {Session} who
 */
function enter(who) {
  if (state.value !== "out" && session.value?.person.id !== who.person.id) {
    // No data of the previous person may stay on the page.
    unsaved.value = "";
    location.reload();
    return;
  }
  session.value = who;
  if (state.value === "in") return;
  state.value = "in";
  logIns.value += 1;
}

/**
 * Returns whether a session has a scope, or is an administrator's.
 * @param {Session | null} who
 * @param {string} need
 */
export function may(who, need) {
  return need === ADMINISTRATOR ? who?.person.role === need : (who?.scopes.includes(need) ?? false);
}

/**
 * Returns whether the current session has a scope, or is an administrator's.
 * @param {string} need
 */
export function useMay(need) {
  return may(useSignal(session), need);
}

export async function logOut() {
  await call("DELETE", "/api/session");
  forget();
}

function forget() {
  localStorage.removeItem(NOTE);
  unsaved.value = "";
  session.value = null;
  state.value = "out";
  clearImages();
}

/** @param {Session} who */
function note(who) {
  localStorage.setItem(NOTE, JSON.stringify(who));
}

/** @returns {Session | null} */
function noted() {
  try {
    return JSON.parse(localStorage.getItem(NOTE) ?? "null");
  } catch {
    // An earlier release stored only the account's email address.
    return null;
  }
}

addEventListener("storage", (event) => {
  if (event.key !== NOTE && event.key !== null) return;
  const who = noted();
  if (!who) forget();
  else if (state.value === "out") location.reload();
  else enter(who);
});
