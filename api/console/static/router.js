/** @file Routing: the path selects the page, the query is its state. */

import { html } from "./html.js";
import { queryText } from "./api.js";
import { signal } from "./signal.js";

/** @typedef {{path: string, query: Record<string, string>, fragment: string}} Place */

/** @returns {Place} */
function here() {
  return { path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)), fragment: location.hash.slice(1) };
}

export const place = signal(here());

/** The question to ask before unsaved input is discarded, or "". */
export const unsaved = signal("");

/** The navigation that waits for the answer to that question. */
export const leaving = signal(/** @type {{target: string, replace: boolean} | null} */ (null));

/**
 * Navigates to a page, or asks first if input would be lost.
 * @param {string} target path and query
 * @param {{replace?: boolean}} [options] `replace`: adds no entry to the browser's history
 */
export function go(target, { replace = false } = {}) {
  if (unsaved.value) {
    leaving.value = { target, replace };
    return;
  }
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  const before = place.value.path;
  place.value = here();
  if (before !== place.value.path) scrollTo(0, 0);
}

/**
 * Changes the state of the current page. A name with an empty value is removed.
 * @param {Record<string, unknown>} query
 * @param {{replace?: boolean}} [options]
 */
export function goQuery(query, options) {
  go(place.value.path + queryText({ ...place.value.query, ...query }), options);
}

addEventListener("popstate", () => {
  // A link within the page keeps the input.
  if (!unsaved.value || location.pathname === place.value.path) {
    place.value = here();
    return;
  }
  leaving.value = { target: location.pathname + location.search, replace: false };
  history.pushState(null, "", place.value.path + queryText(place.value.query));
});
addEventListener("beforeunload", (event) => {
  if (unsaved.value) event.preventDefault();
});

/** A link within the console. With Ctrl or the middle button, it behaves like any other link. */
export function Link({ href, children, ...rest }) {
  /** @param {MouseEvent} event */
  const follow = (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return html`<a href=${href} onClick=${follow} ...${rest}>${children}</a>`;
}

/**
 * Returns the handler of a table row that opens a page. For keyboard use, the row also needs a link to the page.
 * @param {string} href
 */
export function opens(href) {
  return (/** @type {MouseEvent} */ event) => {
    const isOther = /** @type {Element} */ (event.target).closest("a, button, input, select, summary");
    if (isOther || getSelection()?.type === "Range") return;
    if (event.ctrlKey || event.metaKey) open(href);
    else go(href);
  };
}

/**
 * Returns the first route that matches a path, with the values of its `:names`.
 * @template {{form: string}} R
 * @param {readonly R[]} routes
 * @param {string} path
 * @returns {{route: R, params: Record<string, string>} | null}
 */
export function match(routes, path) {
  const parts = path.split("/");
  for (const route of routes) {
    const forms = route.form.split("/");
    if (forms.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    const fits = forms.every((form, at) => {
      if (!form.startsWith(":")) return form === parts[at];
      params[form.slice(1)] = decoded(parts[at]);
      return parts[at] !== "";
    });
    if (fits) return { route, params };
  }
  return null;
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
