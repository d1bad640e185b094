/** @file The test of an alert on past recognitions. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { bodyOf } from "./alert-form.js";
import { cameraName, dateTime, number } from "./format.js";
import { useAction } from "./load.js";
import { Link } from "./router.js";
import { Confidence, FormFault, Plate, SelectField, Table } from "./ui.js";
import { t, tn } from "./words.js";

const DAY_MS = 86_400_000;
const CALLS = 30;
/** Recognitions up to which each condition is also tested alone. */
const EXPLAINED = 50_000;

/** A body that matches everything. */
const ANYTHING = { plateMatchMode: "any", plates: [], plateNames: {}, cameraScope: "all", cameraIds: [], scheduleEnabled: false, minConfidence: 0, cooldownMinutes: 0 };

/** Each condition: its fields, whether it is set, and how many recognitions it excludes. @type {[string[], (body: any) => boolean, (n: number) => string][]} */
const CONDITIONS = [
  [["scheduleEnabled"], (body) => body.scheduleEnabled, (n) => t("{n} outside the schedule", { n: number(n) })],
  [["cameraScope", "cameraIds"], (body) => body.cameraScope === "specific", (n) => t("{n} from other cameras", { n: number(n) })],
  [["plateMatchMode", "plates"], (body) => body.plateMatchMode !== "any", (n) => t("{n} with a plate that does not match", { n: number(n) })],
  [["minConfidence"], (body) => body.minConfidence > 0, (n) => t("{n} with too low a confidence", { n: number(n) })],
];

/** Runs a test on past recognitions, in as many requests as the test needs. @param {any} body @param {number} fromMs @param {(sum: any) => void} [onPart] */
async function runTrial(body, fromMs, onPart) {
  const to = new Date().toISOString();
  let from = new Date(fromMs).toISOString();
  const sum = { evaluated: 0, matched: 0, fired: 0, triggers: /** @type {any[]} */ ([]), isComplete: false };
  for (let count = 0; count < CALLS; count++) {
    const part = await call("POST", "/api/alertas/test", { body: { alert: body, from, to } });
    sum.evaluated += part.evaluated;
    sum.matched += part.matched;
    sum.fired += part.fired;
    sum.triggers.push(...part.triggers);
    sum.isComplete = part.isComplete;
    onPart?.({ ...sum });
    if (part.isComplete || part.until === from) break;
    from = part.until;
  }
  return sum;
}

/** Returns how many recognitions each condition alone excludes. @param {any} body @param {number} fromMs */
async function reasonsOf(body, fromMs) {
  const reasons = [];
  for (const [fields, isSet, text] of CONDITIONS) {
    if (!isSet(body)) continue;
    const { evaluated, matched } = await runTrial({ ...body, ...ANYTHING, ...Object.fromEntries(fields.map((name) => [name, body[name]])) }, fromMs);
    if (evaluated > matched) reasons.push(text(evaluated - matched));
  }
  return reasons;
}

/** The test of a form's alert. Viewers can also run the test. */
export function Trial({ form }) {
  const [days, setDays] = useState("30");
  const [result, setResult] = useState(/** @type {any} */ (null));
  const [reasons, setReasons] = useState(/** @type {string[]} */ ([]));
  const { isBusy, failure, run } = useAction();
  const start = () => run(async () => {
    const body = { ...bodyOf(form), name: form.name || "-", notifications: [] };
    const fromMs = Date.now() - Number(days) * DAY_MS;
    setReasons([]);
    const sum = await runTrial(body, fromMs, setResult);
    if (sum.isComplete && !sum.matched && sum.evaluated && sum.evaluated <= EXPLAINED) setReasons(await reasonsOf(body, fromMs));
  });
  return html`<section class="panel"><h2>${t("Test on past recognitions")}</h2>
    <p class="note">${t("Nothing is saved or sent. Cooldowns that began before the time range are ignored.")}</p>
    <div class="actions">
      <${SelectField} label=${t("Time range")} value=${days} onValue=${setDays} options=${[["1", t("Last 24 hours")], ["7", t("Last 7 days")], ["30", t("Last 30 days")]]} />
      <button type="button" disabled=${isBusy} onClick=${start}>${isBusy ? t("Testing…") : t("Run test")}</button>
    </div>
    <${FormFault} failure=${failure} />
    <div role="status">${result && html`<p class="trial"><strong>${tn(result.fired, "Would have triggered {n} time.", "Would have triggered {n} times.")}</strong>${" "}
      ${t("{evaluated} recognitions checked, {matched} matched, {held} suppressed by cooldown.", { evaluated: number(result.evaluated), matched: number(result.matched), held: number(result.matched - result.fired) })}
      ${" "}${reasons.length > 0 && t("Why none matched: {reasons}.", { reasons: reasons.join(" · ") })}
      ${" "}${reasons.length > 1 && t("Several reasons can apply to one recognition.")}
      ${!result.isComplete && !isBusy && t("Stopped before checking everything. Choose a shorter time range.")}</p>`}</div>
    ${result?.triggers.length > 0 && html`<${Table} caption=${t("Recognitions that would have triggered it")} columns=${[t("Plate"), t("Time"), t("Camera"), { text: t("Confidence"), kind: "number" }]}>
      ${result.triggers.slice(0, 50).map((one) => html`<tr key=${one.recognitionId}><td><${Link} href=${`/recognitions/${one.recognitionId}`} target="_blank"><${Plate} text=${one.plate} /></${Link}></td><td>${dateTime(one.timestamp)}</td><td><bdi>${cameraName(one)}</bdi></td><td class="number"><${Confidence} value=${one.confidence} /></td></tr>`)}
    </${Table}>`}
  </section>`;
}
