/** @file All alerts: what they watch for, and how often they fired. */

import { html } from "../html.js";
import { call, get } from "../api.js";
import { ago, number } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { Link } from "../router.js";
import { scheduleText } from "../schedule.js";
import { useMay } from "../session.js";
import { Badge, Empty, Fault, FormFault, Head, Plate, Table, Waiting } from "../ui.js";
import { t, tn } from "../words.js";

const SHOWN_PLATES = 3;

/** What an alert fires for, in a few words. */
export function Wanted({ alert }) {
  if (alert.plateMatchMode === "any") return t("any plate");
  if (!alert.plates.length) return alert.plateMatchMode === "specific" ? t("no plate yet") : t("any plate");
  const some = alert.plates.slice(0, SHOWN_PLATES).map((plate) => html`<${Plate} key=${plate} text=${plate} />`);
  const more = alert.plates.length - SHOWN_PLATES;
  return html`<span class="plates">${alert.plateMatchMode === "allowlist" && html`<span>${t("all but")}</span>`}${some}${more > 0 && html`<span>${t("and {n} more", { n: number(more) })}</span>`}</span>`;
}

export function AlertsPage() {
  const found = useLoad((abort) => get("/api/alertas", {}, abort), ["alerts"], { everySeconds: 15 });
  const { isBusy, failure, run } = useAction();
  const mayChange = useMay("alerts:write");
  const toggle = (alert) => run(async () => {
    await call("PUT", `/api/alertas/${alert.id}`, { body: { enabled: !alert.enabled } });
    found.reload();
  });
  const alerts = found.data?.alerts ?? [];
  const columns = [t("Name"), t("Fires for"), t("Cameras"), t("When"), { text: t("Fired"), kind: "number" }, t("Last fired"), t("State"), { text: t("Switch"), isHidden: true }];
  return html`<${Head} title=${t("Alerts")} note=${t("An alert fires when a plate is read that it watches for, and tells people and programs.")}>
      ${mayChange && html`<${Link} class="button main" href="/alerts/new">${t("New alert")}</${Link}>`}
    </${Head}>
    <${FormFault} failure=${failure} /><${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} />`}
    ${found.data && !alerts.length && html`<${Empty} title=${t("No alert yet.")}>${mayChange && html`<${Link} href="/alerts/new">${t("Make one")}</${Link}>`}</${Empty}>`}
    ${alerts.length > 0 && html`<${Table} caption=${t("Alerts")} columns=${columns}>
      ${alerts.map((alert) => html`<tr key=${alert.id}>
        <td><${Link} href=${`/alerts/${alert.id}`}><bdi>${alert.name}</bdi></${Link}></td>
        <td><${Wanted} alert=${alert} /></td>
        <td>${alert.cameraScope === "all" ? t("all") : tn(alert.cameraIds.length, "{n} camera", "{n} cameras")}</td>
        <td>${scheduleText(alert)}</td>
        <td class="number">${found.data.countedAt ? number(alert.triggerCount) : "–"}</td>
        <td>${ago(alert.lastTriggeredAt)}</td>
        <td>${alert.enabled ? html`<${Badge} kind="good">${t("on")}</${Badge}>` : html`<${Badge} kind="off">${t("off")}</${Badge}>`}</td>
        <td>${mayChange && html`<button type="button" disabled=${isBusy} aria-label=${alert.enabled ? t("Switch off {name}", { name: alert.name }) : t("Switch on {name}", { name: alert.name })} onClick=${() => toggle(alert)}>${alert.enabled ? t("Switch off") : t("Switch on")}</button>`}</td>
      </tr>`)}
    </${Table}>`}`;
}
