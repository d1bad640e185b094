/** @file The triggers of an alert. */

import { html, useState } from "./html.js";
import { get } from "./api.js";
import { cameraName } from "./format.js";
import { useLoad } from "./load.js";
import { Link, opens } from "./router.js";
import { useMay } from "./session.js";
import { Fault, Moment, Plate, Confidence, Table, Waiting } from "./ui.js";
import { t } from "./words.js";

const ROWS = 20;

/** @type {Record<string, () => string>} */
const PHASES = {
  final: () => t("After the vehicle left"),
  early: () => t("Early, vehicle still in view"),
  confirmed: () => t("Early, confirmed"),
  corrected: () => t("Early, corrected"),
  withdrawn: () => t("Early, withdrawn"),
};

/** @param {{phase: string, isLate: boolean}} one a trigger */
export function triggerTiming(one) {
  return `${PHASES[one.phase]?.() ?? ""}${one.isLate ? ` (${t("delayed: camera was offline")})` : ""}`;
}

function Row({ one }) {
  const name = one.plate ? html`<${Plate} text=${one.plate} />` : html`<span class="note">${t("Plate no longer stored")}</span>`;
  return html`<tr class="opens" onClick=${opens(`/recognitions/${one.recognitionId}`)}><td><${Moment} at=${one.timestamp} /></td><td><${Link} href=${`/recognitions/${one.recognitionId}`}>${name}</${Link}> <bdi>${one.plateName ?? ""}</bdi></td>
    <td><bdi>${cameraName(one)}</bdi></td><td><${Confidence} value=${one.confidence} /></td><td>${triggerTiming(one)}</td></tr>`;
}

/** The triggers of an alert, newest first, in pages. */
export function Triggers({ alertId }) {
  const [keys, setKeys] = useState(/** @type {string[]} */ ([]));
  const mayRead = useMay("recognitions:read");
  const lastKey = keys[keys.length - 1];
  const page = useLoad((abort) => (mayRead ? get(`/api/alertas/${alertId}/triggers`, { limit: ROWS, lastKey }, abort) : Promise.resolve({ triggers: [], nextKey: null })), [alertId, lastKey, mayRead]);
  if (!mayRead) return null;
  const found = page.data;
  return html`<section><h2>${t("Triggers")}</h2>
    <${Fault} failure=${page.failure} retry=${page.reload} />
    ${!found && page.isLoading && html`<${Waiting} rows=${3} />`}
    ${found && !found.triggers.length && html`<p class="note">${found.nextKey ? t("All triggers on this page were withdrawn. Go to the next page.") : t("Not triggered yet")}</p>`}
    ${found?.triggers.length > 0 && html`<${Table} caption=${t("Triggers")} columns=${[t("Time"), t("Plate"), t("Camera"), t("Confidence"), t("Timing")]}>${found.triggers.map((one) => html`<${Row} key=${one.id} one=${one} />`)}</${Table}>`}
    ${found && (keys.length > 0 || found.nextKey) && html`<div class="pager">
      ${keys.length > 0 && html`<button type="button" onClick=${() => setKeys([])}>${t("First page")}</button><button type="button" onClick=${() => setKeys(keys.slice(0, -1))}>${t("Previous page")}</button>`}
      <button type="button" disabled=${!found.nextKey} onClick=${() => setKeys([...keys, found.nextKey])}>${t("Next page")}</button></div>`}
  </section>`;
}
