/** @file All cameras, as a table or as a grid of their snapshots. */

import { html, useState } from "../html.js";
import { useCameras } from "../filters.js";
import { ago, number } from "../format.js";
import { Link, goQuery } from "../router.js";
import { useMay } from "../session.js";
import { CameraStateBadge, Empty, Fault, Head, Segments, SelectField, Table, TextField, Waiting } from "../ui.js";
import { Wall } from "../wall.js";
import { t, tn } from "../words.js";

const STATES = ["online", "offline", "connecting", "disabled"];
const COUNTS = { online: (n) => t("{n} online", { n }), offline: (n) => t("{n} offline", { n }), connecting: (n) => t("{n} connecting", { n }), disabled: (n) => t("{n} disabled", { n }) };
const NAMES = { online: () => t("Online"), offline: () => t("Offline"), connecting: () => t("Connecting"), disabled: () => t("Disabled") };

function Rows({ cameras }) {
  return html`<${Table} caption=${t("Cameras")} columns=${[t("Name"), t("Status"), t("Last frame"), t("Location"), { text: t("Resolution"), kind: "number" }, { text: t("Zones"), kind: "number" }, t("Stream URL")]}>
    ${cameras.map((camera) => html`<tr key=${camera.id}>
      <td><${Link} href=${`/cameras/${camera.id}`}><bdi>${camera.name}</bdi></${Link}></td>
      <td><${CameraStateBadge} state=${camera.status} />${camera.lastError && html` <span class="note"><bdi>${camera.lastError}</bdi></span>`}</td>
      <td class="nowrap">${ago(camera.lastSeenAt)}</td>
      <td><bdi>${camera.location}</bdi></td>
      <td class="number nowrap">${camera.frameWidth ? `${camera.frameWidth} × ${camera.frameHeight}` : "–"}</td>
      <td class="number">${number(camera.zones.length)}</td>
      <td><code class="long">${camera.rtspUrl}</code></td>
    </tr>`)}
  </${Table}>`;
}

export function CamerasPage({ query }) {
  const found = useCameras({ everySeconds: 10 });
  const [text, setText] = useState("");
  const mayAdd = useMay("cameras:write");
  const view = query.view === "wall" ? "wall" : "list";
  const cameras = found.data ?? [];
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
