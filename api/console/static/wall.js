/** @file The cameras' latest pictures with their states, renewed in turns. */

import { html, useEffect, useRef, useState } from "./html.js";
import { hasBudget, queryText, request } from "./api.js";
import { ago } from "./format.js";
import { Link } from "./router.js";
import { CameraStateBadge } from "./ui.js";
import { t } from "./words.js";

const SECONDS_EACH = 0.25;
const AT_LEAST_SECONDS = 3;

/**
 * Returns the URL of a camera's latest picture, null where there is none yet.
 * @param {{id: string, frameWidth: number | null}} camera
 * @param {number} everySeconds 0: once
 * @param {import("preact").RefObject<Element | null>} [seen] only while this is in view
 * @param {number} [width] of a thumbnail in pixels
 */
export function useSnapshot(camera, everySeconds, seen, width) {
  const [url, setUrl] = useState(/** @type {string | null} */ (null));
  const hasPicture = camera.frameWidth !== null;
  useEffect(() => {
    if (!hasPicture) return undefined;
    let isOver = false;
    let isInView = !seen?.current;
    let tag = "";
    let last = "";
    /** @type {number | undefined} */
    let timer;
    const turn = async () => {
      clearTimeout(timer);
      if (isOver) return;
      if (isInView && !document.hidden && hasBudget("pictures")) await renew();
      if (!isOver && (everySeconds || !last)) timer = setTimeout(turn, (last ? everySeconds : 1) * 1000);
    };
    const renew = async () => {
      try {
        const answer = await request("GET", `/api/cameras/${camera.id}/snapshot${queryText({ width })}`, { headers: tag ? { "If-None-Match": tag } : {} });
        if (isOver || !answer.ok) return;
        tag = answer.headers.get("ETag") ?? "";
        const before = last;
        last = URL.createObjectURL(await answer.blob());
        setUrl(last);
        // The picture before is on the screen until the new one is decoded.
        if (before) setTimeout(() => URL.revokeObjectURL(before), 2000);
      } catch {
        // Said by the page's own note; the next turn tries again.
      }
    };
    const watcher = new IntersectionObserver((entries) => {
      isInView = entries.some((entry) => entry.isIntersecting);
      if (isInView && !last) turn();
    });
    if (seen?.current) watcher.observe(seen.current);
    turn();
    return () => {
      isOver = true;
      clearTimeout(timer);
      watcher.disconnect();
      if (last) setTimeout(() => URL.revokeObjectURL(last), 2000);
    };
  }, [camera.id, hasPicture, everySeconds]);
  return url;
}

function Tile({ camera, everySeconds }) {
  const frame = useRef(/** @type {Element | null} */ (null));
  const url = useSnapshot(camera, everySeconds, frame, 480);
  return html`<li class="tile" ref=${frame}>
    <${Link} href=${`/cameras/${camera.id}`}>
      <span class="tile-picture">
        ${url ? html`<img src=${url} alt=${t("Latest snapshot from {camera}", { camera: camera.name })} />` : html`<span class="tile-none">${camera.lastError ?? t("No image yet")}</span>`}
      </span>
      <span class="tile-text"><span class="tile-name"><bdi>${camera.name}</bdi></span><${CameraStateBadge} state=${camera.status} /></span>
      ${camera.status === "offline" && html`<span class="tile-note">${t("Last frame: {ago}", { ago: ago(camera.lastSeenAt) })}</span>`}
    </${Link}>
  </li>`;
}

export function Wall({ cameras }) {
  const everySeconds = Math.max(AT_LEAST_SECONDS, cameras.length * SECONDS_EACH);
  return html`<ul class="wall">${cameras.map((camera) => html`<${Tile} key=${camera.id} camera=${camera} everySeconds=${everySeconds} />`)}</ul>`;
}
