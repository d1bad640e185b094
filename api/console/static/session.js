/** @file Who is logged in. The cookie itself is out of a script's reach; this page keeps a note of it. */

import { call, onSessionEnd } from "./api.js";
import { forgetPictures } from "./pictures.js";
import { unsaved } from "./router.js";
import { signal } from "./signal.js";

const NOTE = "platestream.session";

/** @typedef {{email: string, timezone: string, expiresAt: string | null, scopes?: string[]}} Session */

/** `out`: the log-in page. `ended`: the log-in stands over the page, which keeps what was typed. */
export const state = signal(/** @type {"out" | "in" | "ended"} */ (localStorage.getItem(NOTE) ? "in" : "out"));

/** @type {import("./signal.js").Signal<Session | null>} */
export const session = signal(/** @type {Session | null} */ (null));

/** Counts the log-ins of this page: what a view could not read before is read then. */
export const logIns = signal(0);

onSessionEnd(() => {
  if (state.value === "in") state.value = "ended";
});

/** Asks who is logged in, once the page knows that somebody was. */
export async function askWho() {
  const answer = await call("GET", "/api/session");
  session.value = answer.session;
}

/** @param {string} email @param {string} password */
export async function logIn(email, password) {
  const answer = await call("POST", "/api/session", { body: { email, password } });
  const before = localStorage.getItem(NOTE);
  localStorage.setItem(NOTE, answer.session.email);
  if (state.value === "ended" && before !== answer.session.email) {
    // Somebody else: nothing of the account before may stay on the page.
    unsaved.value = "";
    location.reload();
    return;
  }
  session.value = answer.session;
  state.value = "in";
  logIns.value += 1;
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

addEventListener("storage", (event) => {
  if (event.key !== NOTE && event.key !== null) return;
  if (!localStorage.getItem(NOTE)) forget();
  else if (event.oldValue === event.newValue || state.value !== "in") location.reload();
});
