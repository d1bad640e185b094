/** @file How many frames and vehicles of a camera reach each step, what is dropped, and what to do about it. */

import { html, useState } from "./html.js";
import { get } from "./api.js";
import { Figure } from "./charts.js";
import { number, shortDateTime } from "./format.js";
import { useLoad } from "./load.js";
import { Fault, Segments, Waiting } from "./ui.js";
import { t } from "./words.js";

const HOUR_MS = 3_600_000;
/** Time until the counts of an hour's last minute have arrived. */
const SETTLE_MS = 180_000;

const SPANS = () => [["1", t("Last hour")], ["24", t("Last 24 hours")], ["168", t("Last 7 days")]];

/** Reasons for dropped frames and vehicles, in the order of the pipeline. */
const LOSSES = {
  still: () => t("no motion"),
  failed: () => t("frame couldn't be encoded"),
  slow: () => t("worker too slow"),
  unsent: () => t("send queue full or frame too large"),
  lost: () => t("lost before analysis"),
  stale: () => t("skipped to catch up"),
  surplus: () => t("over the account's share of capacity"),
  refused: () => t("corrupt frame"),
  small: () => t("plate narrower than the minimum"),
  outside: () => t("plate outside the zones"),
  unread: () => t("plate unreadable"),
  unsure: () => t("vehicle, confidence too low"),
  repeated: () => t("vehicle, already recognised moments before"),
  fragments: () => t("partial reading of another vehicle's plate"),
};

/** @param {{start: string, counts: Record<string, number>, usual: number | null}[]} hours */
function sumOf(hours) {
  const sum = /** @type {Record<string, number>} */ ({});
  for (const { counts } of hours) for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** @param {Record<string, number>} sum @returns {[string, number][]} */
function stepsOf(sum) {
  const moving = sum.slow + sum.unsent + sum.lost + sum.stale + sum.surplus + sum.refused + sum.read;
  return [
    [t("Frames sampled"), moving + sum.still + sum.failed],
    [t("With motion"), moving],
    [t("Analysed"), sum.read],
    [t("With a plate"), sum.found],
    [t("Vehicles"), sum.reported + sum.unsure],
    [t("Recognitions"), sum.reported],
  ];
}

/** @param {Record<string, number>} sum @param {number} moving */
function hintsOf(sum, moving) {
  return [
    sum.slow + sum.stale > moving / 10 && t("This server is too slow. Lower the sampling rate, add CPU or add workers."),
    sum.surplus > moving / 10 && t("This account sends more frames than its share. Lower the sampling rate or add workers."),
    sum.unsent + sum.lost > moving / 50 && t("Frames aren't reaching recognition: recognition or Kafka was down or lagging. Check Health."),
    sum.refused > moving / 50 && t("Many frames are corrupt. Check the camera's network connection."),
    sum.small > sum.readings && t("Most plates are narrower than the minimum plate width. Move the camera closer, zoom in or lower the minimum."),
    sum.unread > sum.readings && t("Most plates are unreadable. Get a closer, larger or sharper image, or add light."),
    sum.outside > sum.readings && t("Most plates are outside the zones. Check the zones."),
    sum.unsure > sum.reported && t("Most vehicles don't give two matching readings. Raise the sampling rate, or aim the camera where traffic is slower."),
  ].filter(Boolean);
}

/** Returns the last full hour if the hour has less than half of the usual count, or null. */
function quietHour(hours) {
  const whole = hours.filter((hour) => Date.parse(hour.start) + HOUR_MS + SETTLE_MS < Date.now());
  const last = whole[whole.length - 1];
  return last?.usual && 2 * last.counts.reported < last.usual ? last : null;
}

function Bars({ steps }) {
  // The scale is logarithmic, because only a dozen of thousands of frames have a plate.
  const top = Math.log1p(Math.max(...steps.map(([, value]) => value), 1));
  return html`<ol class="ranking">${steps.map(([name, value]) => html`<li key=${name}><span class="ranking-name">${name}</span>
    <span class="ranking-bar" aria-hidden="true"><span style=${{ width: `${(100 * Math.log1p(value)) / top}%` }}></span></span><span class="number">${number(value)}</span></li>`)}</ol>
    <p class="note">${t("Logarithmic scale")}</p>`;
}

/** The steps of a camera's frames. */
export function Funnel({ camera }) {
  const [hours, setHours] = useState("24");
  const found = useLoad(
    (abort) => get(`/api/cameras/${camera.id}/funnel`, { from: new Date(Date.now() - (Number(hours) - 1) * HOUR_MS).toISOString() }, abort).then((answer) => answer.hours),
    [camera.id, hours],
    { everySeconds: 60 },
  );
  const sum = found.data && sumOf(found.data);
  const steps = sum ? stepsOf(sum) : [];
  const losses = sum ? Object.entries(LOSSES).filter(([name]) => sum[name]) : [];
  const quiet = found.data && quietHour(found.data);
  const rows = [
    ...steps.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="number">${number(value)}</td></tr>`),
    ...losses.map(([name, text]) => html`<tr key=${name}><td>${t("Dropped: {why}", { why: text() })}</td><td class="number">${number(sum?.[name] ?? 0)}</td></tr>`),
  ];
  return html`<section class="funnel">
    <${Figure} title=${t("From frame to recognition")} columns=${[t("Step"), { text: t("Count"), kind: "number" }]} rows=${rows}>
      <${Segments} label=${t("Time range")} value=${hours} onValue=${setHours} options=${SPANS()} />
      <${Fault} failure=${found.failure} retry=${found.reload} />
      ${!sum && found.isLoading && html`<${Waiting} rows=${3} />`}
      ${quiet && html`<p class="warning">${t("Fewer recognitions than usual: {n} since {time}, usually {usual}.", { n: number(quiet.counts.reported), time: shortDateTime(quiet.start), usual: number(quiet.usual ?? 0) })}</p>`}
      ${sum && (steps[0][1] ? html`<${Bars} steps=${steps} />` : html`<p class="note">${t("No frames in this period")}</p>`)}
      ${sum && hintsOf(sum, steps[1][1]).map((hint) => html`<p key=${hint} class="note">${hint}</p>`)}
    </${Figure}>
  </section>`;
}
