/** @file Who is logged in. The cookie itself is out of a script's reach; this page keeps a note of it. */

import { call, onRightLack, onSessionEnd } from "./api.js";
import { forgetPictures } from "./pictures.js";
import { unsaved } from "./router.js";
import { signal, useSignal } from "./signal.js";

const NOTE = "platestream.session";
const RETURN = "platestream.return";
/** What only administrators may do needs this in the place of a scope. */
export const ADMINISTRATOR = "administrator";

/** @typedef {{id: string, email: string, name: string, role: string, hasPassword: boolean}} Person */
/** @typedef {{email: string, person: Person, timezone: string, expiresAt: string | null, scopes: string[]}} Session */

/** `out`: the log-in page. `ended`: the log-in stands over the page, which keeps what was typed. */
export const state = signal(/** @type {"out" | "in" | "ended"} */ (localStorage.getItem(NOTE) ? "in" : "out"));

/** Who it was at last, until the API has answered who it is. */
export const session = signal(noted());

/** Counts the log-ins of this page: what a view could not read before is read then. */
export const logIns = signal(0);

onSessionEnd(() => {
  if (state.value === "in") state.value = "ended";
});

// The role may be another by now: what it does not allow is shown no longer.
onRightLack(() => void askWho().catch(() => {}));

/** Asks who is logged in, once the page knows that somebody was. */
export async function askWho() {
  const answer = await call("GET", "/api/session");
  // Who has logged out meanwhile is not to be noted again.
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
 * Sends a window to the provider, and notes where this one stood.
 * @param {Window} target
 * @param {string} [invitation] token of the link that is accepted by it
 */
export async function goToProvider(target, invitation) {
  const { url } = await call("POST", "/api/session/oidc", { body: { invitation } });
  sessionStorage.setItem(RETURN, invitation || target !== window ? "/" : location.pathname + location.search);
  target.location.assign(url);
}

/**
 * Logs in whom the provider sent back, and returns where they stood before.
 * @param {{code?: string, state?: string, iss?: string}} given
 */
export async function logInByProvider({ code, state: begun = "", iss }) {
  const answer = await call("POST", "/api/session/oidc/return", { body: { code, state: begun, iss } });
  const target = sessionStorage.getItem(RETURN) ?? "/";
  sessionStorage.removeItem(RETURN);
  // Before the page is shown: where somebody else was there it begins anew, at that place.
  history.replaceState(null, "", target);
  note(answer.session);
  enter(answer.session);
  return target;
}

/**
 * Shows the page to who has logged in.
 * @param {Session} who
 */
function enter(who) {
  if (state.value !== "out" && session.value?.person.id !== who.person.id) {
    // Somebody else: nothing of the person before may stay on the page.
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
 * Returns whether somebody may do what needs a scope, or an administrator.
 * @param {Session | null} who
 * @param {string} need
 */
export function may(who, need) {
  return need === ADMINISTRATOR ? who?.person.role === need : (who?.scopes.includes(need) ?? false);
}

/**
 * Returns whether who is logged in may do what needs a scope, or an administrator.
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
  forgetPictures();
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
    // A release before wrote the account's address alone.
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
