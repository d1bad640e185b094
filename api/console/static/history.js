/** @file A plate's recognitions over time and by camera. */

import { html } from "./html.js";
import { get } from "./api.js";
import { localTime, writeCsv } from "./csv.js";
import { ErasePlate } from "./erasure.js";
import { cameraName, date, dateTime, number, time } from "./format.js";
import { useLoad } from "./load.js";
import { Link, opens } from "./router.js";
import { Together } from "./together.js";
import { Empty, Fault, Moment, Plate, Confidence, Table, Waiting, save } from "./ui.js";
import { t, tn } from "./words.js";

const PAGES = 5;
const ROWS = 200;

/**
 * Returns up to 1,000 of the newest recognitions, and whether these are all.
 * @param {Record<string, string>} filter
 * @param {AbortSignal} abort
 */
export async function newestRecognitions(filter, abort) {
  /** @type {any[]} */
  const rows = [];
  let lastKey = "";
  for (let page = 0; page < PAGES; page++) {
    const answer = await get("/api/recognitions", { ...filter, ...(filter.plate && { corrected: true }), limit: ROWS, lastKey }, abort);
    rows.push(...answer.recognitions);
    if (!answer.nextKey) return { rows, isAll: true };
    lastKey = answer.nextKey;
  }
  return { rows, isAll: false };
}

/** @param {any[]} rows newest first */
function byCamera(rows) {
  /** @type {Map<string, {name: string, rows: any[]}>} */
  const cameras = new Map();
  for (const row of rows) {
    const known = cameras.get(row.cameraId) ?? { name: cameraName(row), rows: /** @type {any[]} */ ([]) };
    known.rows.push(row);
    cameras.set(row.cameraId, known);
  }
  return [...cameras.values()].sort((a, b) => b.rows.length - a.rows.length);
}

/** A line for each camera with a mark for each recognition. */
function TimeLine({ cameras, from, to }) {
  const span = Math.max(to - from, 1);
  const name = new Date(from).toDateString() === new Date(to).toDateString() ? time : date;
  const part = (moment) => (100 * (Date.parse(moment) - from)) / span;
  return html`<div class="time-line" aria-hidden="true">
    ${cameras.map((camera) => html`<div key=${camera.rows[0].cameraId} class="lane">
      <span class="lane-name"><bdi>${camera.name}</bdi></span>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none">${camera.rows.map((row) => html`<line key=${row.id} x1=${part(row.timestamp)} x2=${part(row.timestamp)} y1="1" y2="9" />`)}</svg>
    </div>`)}
    <div class="lane ends"><span class="lane-name"></span><span>${name(new Date(from).toISOString())}</span><span>${name(new Date(to).toISOString())}</span></div>
  </div>`;
}

export function History({ filter }) {
  const found = useLoad((abort) => newestRecognitions(filter, abort), [filter]);
  if (!found.data) return html`<${Fault} failure=${found.failure} retry=${found.reload} />${found.isLoading && html`<${Waiting} rows=${8} />`}`;
  const { rows, isAll } = found.data;
  if (!rows.length) return html`<${Empty} title=${t("No results")}>${t("History works best for one plate. Enter the plate and set the match mode to Exact.")}</${Empty}>`;
  const cameras = byCamera(rows);
  const [newest, oldest] = [rows[0], rows[rows.length - 1]];
  const plates = new Set(rows.map((row) => row.plate));
  // Recognitions that were corrected to this plate have another reading.
  const whole = filter.match === "exact" ? filter.plate.trim() : plates.size === 1 && newest.plate;
  return html`<div class="facts">
      <div><span>${t("Recognitions")}</span><strong>${number(rows.length)}${isAll ? "" : "+"}</strong></div>
      <div><span>${t("Cameras")}</span><strong>${number(cameras.length)}</strong></div>
      <div><span>${t("Plates")}</span><strong>${plates.size === 1 ? html`<${Plate} text=${newest.plate} />` : number(plates.size)}</strong></div>
      <div><span>${t("First seen")}</span><strong>${dateTime(oldest.timestamp)}</strong></div>
      <div><span>${t("Last seen")}</span><strong>${dateTime(newest.timestamp)}</strong></div>
    </div>
    ${!isAll && html`<p class="note">${t("Showing the newest {n}. Narrow the time range to see the rest.", { n: number(rows.length) })}</p>`}
    <${TimeLine} cameras=${cameras} from=${Date.parse(oldest.timestamp)} to=${Date.parse(newest.timestamp)} />
    <div class="columns">
      <section><h2>${t("By camera")}</h2>
        <${Table} caption=${t("Recognitions by camera")} columns=${[t("Camera"), { text: t("Recognitions"), kind: "number" }, t("Last seen")]}>
          ${cameras.map((camera) => html`<tr key=${camera.rows[0].cameraId}><td><bdi>${camera.name}</bdi></td><td class="number">${number(camera.rows.length)}</td><td><${Moment} at=${camera.rows[0].timestamp} /></td></tr>`)}
        </${Table}></section>
      <section><h2>${tn(rows.length, "{n} recognition", "{n} recognitions")}</h2>
        <${Table} caption=${t("Recognitions")} columns=${[t("Time"), t("Camera"), t("Plate"), { text: t("Confidence"), kind: "number" }]}>
          ${rows.slice(0, ROWS).map((row) => html`<tr key=${row.id} class="opens" onClick=${opens(`/recognitions/${row.id}`)}>
            <td><${Link} href=${`/recognitions/${row.id}`}><${Moment} at=${row.timestamp} /></${Link}></td><td><bdi>${cameraName(row)}</bdi></td>
            <td><${Plate} text=${row.plate} /></td><td class="number"><${Confidence} value=${row.confidence} /></td></tr>`)}
        </${Table}></section>
    </div>
    ${whole && html`<${Together} key=${JSON.stringify(filter)} rows=${rows} />`}
    <div class="pager"><button type="button" onClick=${() => save("history.csv", "text/csv", writeCsv([["id", "timestamp", "localTime", "plate", "confidence", "cameraName"], ...rows.map((row) => [row.id, row.timestamp, localTime(row.timestamp), row.plate, row.confidence, row.cameraName])]))}>${t("Export as CSV")}</button></div>
    ${whole && html`<${ErasePlate} plate=${whole} onErased=${found.reload} />`}`;
}
