/** @file Pictures through the API: only those in view, a few at once, within the session's limit. */

import { html, useEffect, useRef, useState } from "./html.js";
import { hasBudget, request } from "./api.js";
import { t } from "./words.js";

const AT_ONCE = 6;
const KEPT = 300;
const WAIT_MS = 1000;

/** @typedef {{path: string, wanted: () => boolean, done: (url: string | null) => void}} Errand */

/** @type {Errand[]} */
const waiting = [];
/** Object URLs by path, the least recently used first. @type {Map<string, string>} */
const kept = new Map();
let running = 0;
/** @type {number | undefined} */
let timer;

function next() {
  clearTimeout(timer);
  while (running < AT_ONCE && waiting.length) {
    if (!hasBudget("pictures")) {
      timer = setTimeout(next, WAIT_MS);
      return;
    }
    // The last one asked for is the one that is looked at.
    const errand = /** @type {Errand} */ (waiting.pop());
    if (!errand.wanted()) continue;
    running += 1;
    fetchPicture(errand).finally(() => {
      running -= 1;
      next();
    });
  }
}

/** @param {Errand} errand */
async function fetchPicture(errand) {
  const known = kept.get(errand.path);
  if (known) return errand.done(known);
  let answer;
  try {
    answer = await request("GET", errand.path);
  } catch {
    setTimeout(() => ask(errand), 3 * WAIT_MS);
    return;
  }
  if (answer.ok) {
    const url = URL.createObjectURL(await answer.blob());
    keep(errand.path, url);
    errand.done(url);
  } else if (answer.status === 429 || answer.status >= 500) {
    setTimeout(() => ask(errand), 3 * WAIT_MS);
  } else {
    errand.done(null);
  }
}

/** @param {string} path @param {string} url */
function keep(path, url) {
  kept.set(path, url);
  if (kept.size <= KEPT) return;
  const [oldest, old] = /** @type {[string, string]} */ (kept.entries().next().value);
  kept.delete(oldest);
  URL.revokeObjectURL(old);
}

/** @param {Errand} errand */
function ask(errand) {
  waiting.push(errand);
  next();
}

/** Forgets all pictures: another account may come. */
export function forgetPictures() {
  for (const url of kept.values()) URL.revokeObjectURL(url);
  kept.clear();
}

/**
 * Returns the URL of a picture: undefined while it comes, null where there is none.
 * @param {string | null} path
 * @param {import("preact").RefObject<Element | null>} [seen] only once this is in view
 * @returns {string | null | undefined}
 */
export function usePicture(path, seen) {
  const [found, setFound] = useState(/** @type {{path: string | null, url: string | null | undefined}} */ ({ path: null, url: undefined }));
  useEffect(() => {
    if (path === null) return undefined;
    let isWanted = true;
    const errand = { path, wanted: () => isWanted, done: (/** @type {string | null} */ url) => isWanted && setFound({ path, url }) };
    const known = kept.get(path);
    if (known) {
      keep(path, known);
      setFound({ path, url: known });
      return undefined;
    }
    if (!seen?.current) {
      ask(errand);
      return () => void (isWanted = false);
    }
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      ask(errand);
    }, { rootMargin: "200px" });
    watcher.observe(seen.current);
    return () => {
      isWanted = false;
      watcher.disconnect();
    };
  }, [path]);
  return found.path === path ? found.url : undefined;
}

/** The plate's crop of a recognition; `width` is that of the thumbnail in pixels. */
export function Crop({ recognition, width = 192 }) {
  const frame = useRef(/** @type {Element | null} */ (null));
  const path = recognition.cropUrl ? `/api/recognitions/${recognition.id}/crop?width=${width}` : null;
  const url = usePicture(path, frame);
  return html`<span class="crop" ref=${frame}>
    ${url && html`<img src=${url} alt=${t("Plate {plate}", { plate: recognition.plate })} />`}
    ${(path === null || url === null) && html`<span class="crop-none">${t("No image")}</span>`}
  </span>`;
}
