/** @file The cameras' snapshots with their status, refreshed in turn. */

import { html, useEffect, useRef, useState } from "./html.js";
import { hasBudget, queryText, request } from "./api.js";
import { ago } from "./format.js";
import { Link } from "./router.js";
import { CameraStateBadge, CameraStateDot } from "./ui.js";
import { t, translated } from "./words.js";

const SECONDS_EACH = 0.25;
const AT_LEAST_SECONDS = 3;

/**
 * Returns the URL of a camera's snapshot, or null if there is no snapshot yet.
 * @param {{id: string, frameWidth: number | null}} camera
 * @param {number} everySeconds 0: once
 * @param {import("preact").RefObject<Element | null>} [seen] only while this is in view
 * @param {number} [width] of a thumbnail in pixels
 */
export function useSnapshot(camera, everySeconds, seen, width) {
  const [url, setUrl] = useState(/** @type {string | null} */ (null));
  const hasImage = camera.frameWidth !== null;
  useEffect(() => {
    if (!hasImage) return undefined;
    let isOver = false;
    let isInView = !seen?.current;
    let tag = "";
    let last = "";
    /** @type {number | undefined} */
    let timer;
    const turn = async () => {
      clearTimeout(timer);
      if (isOver) return;
      if (isInView && !document.hidden && hasBudget("images")) await renew();
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
        // The previous image stays on screen until the new one is decoded.
        if (before) setTimeout(() => URL.revokeObjectURL(before), 2000);
      } catch {
        // The page reports the outage. The next turn retries.
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
  }, [camera.id, hasImage, everySeconds]);
  return url;
}

function Tile({ camera, everySeconds }) {
  const frame = useRef(/** @type {Element | null} */ (null));
  const url = useSnapshot(camera, everySeconds, frame, 480);
  return html`<li class="tile" ref=${frame}>
    <${Link} href=${`/cameras/${camera.id}`}>
      <span class="tile-image">
        ${url ? html`<img src=${url} alt=${t("Latest snapshot from {camera}", { camera: camera.name })} />` : html`<span class="tile-none">${camera.lastError ? translated(camera.lastError) : t("No image yet")}</span>`}
        ${camera.status === "online" ? html`<${CameraStateDot} state=${camera.status} />` : html`<${CameraStateBadge} state=${camera.status} />`}
      </span>
      <span class="tile-text"><span class="tile-name"><bdi>${camera.name}</bdi></span></span>
      ${camera.status === "offline" && html`<span class="tile-note">${t("Last frame: {ago}", { ago: ago(camera.lastSeenAt) })}</span>`}
    </${Link}>
  </li>`;
}

export function Wall({ cameras }) {
  const everySeconds = Math.max(AT_LEAST_SECONDS, cameras.length * SECONDS_EACH);
  return html`<ul class="wall">${cameras.map((camera) => html`<${Tile} key=${camera.id} camera=${camera} everySeconds=${everySeconds} />`)}</ul>`;
}
