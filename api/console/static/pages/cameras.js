/** @file All cameras, as a table or as a grid of their snapshots. */

import { html, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { useCameras } from "../filters.js";
import { ago, number } from "../format.js";
import { useLoad } from "../load.js";
import { Link, goQuery } from "../router.js";
import { useMay } from "../session.js";
import { CameraStateBadge, Empty, Fault, Head, Segments, SelectField, Table, TextField, Waiting } from "../ui.js";
import { Wall, useSnapshot } from "../wall.js";
import { t, tn, translated } from "../words.js";

const STATES = ["online", "offline", "connecting", "disabled"];
const COUNTS = { online: (n) => t("{n} online", { n }), offline: (n) => t("{n} offline", { n }), connecting: (n) => t("{n} connecting", { n }), disabled: (n) => t("{n} disabled", { n }) };
const NAMES = { online: () => t("Online"), offline: () => t("Offline"), connecting: () => t("Connecting"), disabled: () => t("Disabled") };

/** Cameras that need attention come first. */
const ORDER = ["offline", "connecting", "online", "disabled"];

function Thumbnail({ camera }) {
  const frame = useRef(/** @type {Element | null} */ (null));
  const url = useSnapshot(camera, 0, frame, 240);
  return html`<span class="thumbnail" ref=${frame}>${url && html`<img src=${url} alt="" />`}</span>`;
}

function Rows({ cameras }) {
  const mayCount = useMay("analytics:read");
  const counted = useLoad((abort) => (mayCount ? get("/api/analytics", {}, abort).then((answer) => answer.cameraChart) : Promise.resolve([])), ["counts", mayCount]);
  const counts = new Map((counted.data ?? []).map((one) => [one.cameraId, one.count]));
  const columns = [{ text: t("Snapshot"), isHidden: true }, t("Name"), t("Status"), t("Last frame"), ...(mayCount ? [{ text: t("Recognitions, 30 days"), kind: "number" }] : [])];
  return html`<${Table} caption=${t("Cameras")} columns=${columns}>
    ${cameras.map((camera) => html`<tr key=${camera.id}>
      <td class="thumbnail-cell"><${Thumbnail} camera=${camera} /></td>
      <td><${Link} href=${`/cameras/${camera.id}`}><bdi>${camera.name}</bdi></${Link}>${camera.location && html`<div class="note"><bdi>${camera.location}</bdi></div>`}</td>
      <td><${CameraStateBadge} state=${camera.status} />${camera.lastError && html`<div class="note"><bdi>${translated(camera.lastError)}</bdi></div>`}</td>
      <td class="nowrap">${ago(camera.lastSeenAt)}</td>
      ${mayCount && html`<td class="number">${counted.data ? number(counts.get(camera.id) ?? 0) : "–"}</td>`}
    </tr>`)}
  </${Table}>`;
}

export function CamerasPage({ query }) {
  const found = useCameras({ everySeconds: 10 });
  const [text, setText] = useState("");
  const mayAdd = useMay("cameras:write");
  const view = query.view === "wall" ? "wall" : "list";
  const cameras = [...(found.data ?? [])].sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
  const wanted = text.trim().toLowerCase();
  const shown = cameras.filter(
    (camera) => (!query.state || camera.status === query.state) && (!wanted || `${camera.name} ${camera.location} ${camera.identifier}`.toLowerCase().includes(wanted)),
  );
  const counts = STATES.map((state) => ({ state, count: cameras.filter((camera) => camera.status === state).length })).filter(({ count }) => count);
  return html`<${Head} title=${t("Cameras")} note=${found.data ? counts.map(({ state, count }) => COUNTS[state](number(count))).join(" · ") : ""}>
      <${Segments} label=${t("View")} value=${view} onValue=${(value) => goQuery({ view: value === "list" ? "" : value })} options=${[["list", t("List")], ["wall", t("Grid")]]} />
      ${mayAdd && html`<${Link} class="button" href="/cameras/import">${t("Import CSV")}</${Link}><${Link} class="button main" href="/cameras/new">${t("Add camera")}</${Link}>`}
    </${Head}>
    <div class="filters">
      <${TextField} label=${t("Name or location")} type="search" value=${text} onValue=${setText} />
      <${SelectField} label=${t("Status")} value=${query.state ?? ""} onValue=${(state) => goQuery({ state }, { replace: true })} options=${[["", t("All statuses")], ...STATES.map((state) => [state, NAMES[state]()])]} />
    </div>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} />`}
    ${found.data && !cameras.length && html`<${Empty} title=${t("No cameras yet")}>${mayAdd && html`${t("Add a camera by its RTSP URL, or import many from a CSV file.")} <${Link} href="/cameras/new">${t("Add camera")}</${Link}>`}</${Empty}>`}
    ${cameras.length > 0 && !shown.length && html`<${Empty} title=${t("No match among {cameras}", { cameras: tn(cameras.length, "{n} camera", "{n} cameras") })}><button type="button" onClick=${() => { setText(""); goQuery({ state: "" }, { replace: true }); }}>${t("Clear filters")}</button></${Empty}>`}
    ${shown.length > 0 && (view === "wall" ? html`<${Wall} cameras=${shown} />` : html`<${Rows} cameras=${shown} />`)}`;
}
