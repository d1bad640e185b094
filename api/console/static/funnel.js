/** @file How far a camera's frames and vehicles come, what is lost on the way, and what to do about it. */

import { html, useRef, useState } from "./html.js";
import { get } from "./api.js";
import { Figure } from "./charts.js";
import { number, shortDateTime } from "./format.js";
import { isKnown, useLoad } from "./load.js";
import { Fault, Segments, Waiting } from "./ui.js";
import { t } from "./words.js";

const HOUR_MS = 3_600_000;
/** Until the counts of an hour's last minute are there. */
const SETTLE_MS = 180_000;

const SPANS = () => [["1", t("Last hour")], ["24", t("24 hours")], ["168", t("7 days")]];

/** What is lost, in the order in which it is, with its words. */
const LOSSES = {
  still: () => t("nothing moved"),
  failed: () => t("no picture could be made of it"),
  slow: () => t("this machine was too slow to take it"),
  unsent: () => t("no room to send it"),
  lost: () => t("gone before it was looked at"),
  stale: () => t("left out among late ones"),
  surplus: () => t("beyond the account's share"),
  refused: () => t("damaged"),
  small: () => t("plate smaller than the smallest"),
  outside: () => t("plate outside the zones"),
  unread: () => t("plate not readable"),
  unsure: () => t("vehicle: no reading is sure enough"),
  repeated: () => t("vehicle: reported a moment before"),
  fragments: () => t("part of another vehicle's plate"),
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
    [t("frames"), moving + sum.still + sum.failed],
    [t("with movement"), moving],
    [t("looked at"), sum.read],
    [t("with a plate"), sum.found],
    [t("vehicles"), sum.reported + sum.unsure],
    [t("reported"), sum.reported],
  ];
}

/** @param {Record<string, number>} sum @param {number} moving */
function hintsOf(sum, moving) {
  return [
    sum.slow + sum.stale > moving / 10 && t("The machine is too slow: fewer frames a second, more processors, or more workers."),
    sum.surplus > moving / 10 && t("The account sends more frames than its share: fewer frames a second, or more workers."),
    sum.unsent + sum.lost > moving / 50 && t("Frames do not reach recognition: it, or Kafka, was away or behind for too long."),
    sum.refused > moving / 50 && t("Many pictures are damaged: look at the camera's network."),
    sum.small > sum.readings && t("Most plates are smaller than the smallest that is read here: bring the camera nearer, have it zoom in, or lower that width."),
    sum.unread > sum.readings && t("Most plates cannot be read: they need a nearer, larger or sharper picture, or more light."),
    sum.outside > sum.readings && t("Most plates are outside the zones."),
    sum.unsure > sum.reported && t("Most vehicles are not read twice alike: more frames a second, or a place where they are slower."),
  ].filter(Boolean);
}

/** The last whole hour, where it has less than half of what it usually has. */
function quietHour(hours) {
  const whole = hours.filter((hour) => Date.parse(hour.start) + HOUR_MS + SETTLE_MS < Date.now());
  const last = whole[whole.length - 1];
  return last?.usual && 2 * last.counts.reported < last.usual ? last : null;
}

function Bars({ steps }) {
  // By the logarithm: of thousands of frames a dozen have a plate.
  const top = Math.log1p(Math.max(...steps.map(([, value]) => value), 1));
  return html`<ol class="ranking">${steps.map(([name, value]) => html`<li key=${name}><span class="ranking-name">${name}</span>
    <span class="ranking-bar" aria-hidden="true"><span style=${{ width: `${(100 * Math.log1p(value)) / top}%` }}></span></span><span class="number">${number(value)}</span></li>`)}</ol>`;
}

/**
 * How far a camera's frames come; `children` stand below it, once it is known how long it is.
 * @param {{camera: any, children?: any}} props
 */
export function Funnel({ camera, children }) {
  const [hours, setHours] = useState("24");
  const found = useLoad(
    (abort) => get(`/api/cameras/${camera.id}/funnel`, { from: new Date(Date.now() - (Number(hours) - 1) * HOUR_MS).toISOString() }, abort).then((answer) => answer.hours),
    [camera.id, hours],
    { everySeconds: 60 },
  );
  // For good: what is typed below stays where it is while another time is asked for.
  const wasKnown = useRef(false);
  wasKnown.current ||= isKnown(found);
  const sum = found.data && sumOf(found.data);
  const steps = sum ? stepsOf(sum) : [];
  const losses = sum ? Object.entries(LOSSES).filter(([name]) => sum[name]) : [];
  const quiet = found.data && quietHour(found.data);
  const rows = [
    ...steps.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td class="number">${number(value)}</td></tr>`),
    ...losses.map(([name, text]) => html`<tr key=${name}><td>${t("left out: {why}", { why: text() })}</td><td class="number">${number(sum?.[name] ?? 0)}</td></tr>`),
  ];
  return html`<section class="funnel">
    <${Figure} title=${t("From frame to recognition")} columns=${[t("Step"), { text: t("Number"), kind: "number" }]} rows=${rows}>
      <${Segments} label=${t("Time")} value=${hours} onValue=${setHours} options=${SPANS()} />
      <${Fault} failure=${found.failure} retry=${found.reload} />
      ${!sum && found.isLoading && html`<${Waiting} rows=${3} />`}
      ${quiet && html`<p class="alarm">${t("Reads less than its usual hour: {n} reported since {time}, usually {usual}.", { n: number(quiet.counts.reported), time: shortDateTime(quiet.start), usual: number(quiet.usual ?? 0) })}</p>`}
      ${sum && (steps[0][1] ? html`<${Bars} steps=${steps} />` : html`<p class="note">${t("No frame was looked at in this time.")}</p>`)}
      ${sum && hintsOf(sum, steps[1][1]).map((hint) => html`<p key=${hint} class="note">${hint}</p>`)}
    </${Figure}>
  </section>
  ${wasKnown.current && children}`;
}
