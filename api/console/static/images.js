/** @file Images from the API: only those in view, a few at a time, within the session's rate limit. */

import { html, useEffect, useRef, useState } from "./html.js";
import { hasBudget, request } from "./api.js";
import { t } from "./words.js";

const CONCURRENT = 6;
const MAX_CACHED = 300;
const WAIT_MS = 1000;

/** @typedef {{path: string, wanted: () => boolean, done: (url: string | null) => void}} ImageRequest */

/** @type {ImageRequest[]} */
const waiting = [];
/** Object URLs by path, the least recently used first. @type {Map<string, string>} */
const cache = new Map();
let running = 0;
/** @type {number | undefined} */
let timer;

function next() {
  clearTimeout(timer);
  while (running < CONCURRENT && waiting.length) {
    if (!hasBudget("images")) {
      timer = setTimeout(next, WAIT_MS);
      return;
    }
    // The image requested last is probably in view.
    const job = /** @type {ImageRequest} */ (waiting.pop());
    if (!job.wanted()) continue;
    running += 1;
    fetchImage(job).finally(() => {
      running -= 1;
      next();
    });
  }
}

/** @param {ImageRequest} job */
async function fetchImage(job) {
  const known = cache.get(job.path);
  if (known) return job.done(known);
  let answer;
  try {
    answer = await request("GET", job.path);
  } catch {
    setTimeout(() => enqueue(job), 3 * WAIT_MS);
    return;
  }
  if (answer.ok) {
    const url = URL.createObjectURL(await answer.blob());
    store(job.path, url);
    job.done(url);
  } else if (answer.status === 429 || answer.status >= 500) {
    setTimeout(() => enqueue(job), 3 * WAIT_MS);
  } else {
    job.done(null);
  }
}

/** @param {string} path @param {string} url */
function store(path, url) {
  cache.set(path, url);
  if (cache.size <= MAX_CACHED) return;
  const [oldest, old] = /** @type {[string, string]} */ (cache.entries().next().value);
  cache.delete(oldest);
  URL.revokeObjectURL(old);
}

/** @param {ImageRequest} job */
function enqueue(job) {
  waiting.push(job);
  next();
}

/** Clears the cache, since another account may log in. */
export function clearImages() {
  for (const url of cache.values()) URL.revokeObjectURL(url);
  cache.clear();
}

/**
 * Returns the URL of an image: undefined while the image loads, or null if it does not exist.
 * @param {string | null} path
 * @param {import("preact").RefObject<Element | null>} [seen] only once this is in view
 * @returns {string | null | undefined}
 */
export function useImage(path, seen) {
  const [found, setFound] = useState(/** @type {{path: string | null, url: string | null | undefined}} */ ({ path: null, url: undefined }));
  useEffect(() => {
    if (path === null) return undefined;
    let isWanted = true;
    const job = { path, wanted: () => isWanted, done: (/** @type {string | null} */ url) => isWanted && setFound({ path, url }) };
    const known = cache.get(path);
    if (known) {
      store(path, known);
      setFound({ path, url: known });
      return undefined;
    }
    if (!seen?.current) {
      enqueue(job);
      return () => void (isWanted = false);
    }
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      enqueue(job);
    }, { rootMargin: "200px" });
    watcher.observe(seen.current);
    return () => {
      isWanted = false;
      watcher.disconnect();
    };
  }, [path]);
  return found.path === path ? found.url : undefined;
}

/** The crop of a recognition. `width` is the thumbnail's width in pixels. */
export function Crop({ recognition, width = 192 }) {
  const frame = useRef(/** @type {Element | null} */ (null));
  const path = recognition.cropUrl ? `/api/recognitions/${recognition.id}/crop?width=${width}` : null;
  const url = useImage(path, frame);
  return html`<span class="crop" ref=${frame}>
    ${url && html`<img src=${url} alt=${t("Plate {plate}", { plate: recognition.plate })} />`}
    ${(path === null || url === null) && html`<span class="crop-none">${t("No image")}</span>`}
  </span>`;
}
