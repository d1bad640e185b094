/** @file All alerts: their conditions, and how often they triggered. */

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

/** The plates of an alert, shortened. */
export function PlateSummary({ alert }) {
  if (alert.plateMatchMode === "any") return t("Any plate");
  if (!alert.plates.length) return alert.plateMatchMode === "specific" ? t("No plates yet") : t("Any plate");
  const some = alert.plates.slice(0, SHOWN_PLATES).map((plate) => html`<${Plate} key=${plate} text=${plate} />`);
  const more = alert.plates.length - SHOWN_PLATES;
  return html`<span class="plates">${alert.plateMatchMode === "allowlist" && html`<span>${t("All except")}</span>`}${some}${more > 0 && html`<span>${t("+{n} more", { n: number(more) })}</span>`}</span>`;
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
  const columns = [t("Name"), t("Plates"), t("Cameras"), t("Schedule"), { text: t("Triggers"), kind: "number" }, t("Last triggered"), t("Status"), { text: t("Actions"), isHidden: true }];
  return html`<${Head} title=${t("Alerts")} note=${t("Get notified when a camera reads a plate you're watching for.")}>
      ${mayChange && html`<${Link} class="button main" href="/alerts/new">${t("Create alert")}</${Link}>`}
    </${Head}>
    <${FormFault} failure=${failure} /><${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} />`}
    ${found.data && !alerts.length && html`<${Empty} title=${t("No alerts yet")}>${mayChange && html`${t("Create an alert to be notified when a listed plate is read.")} <${Link} href="/alerts/new">${t("Create alert")}</${Link}>`}</${Empty}>`}
    ${alerts.length > 0 && html`<${Table} caption=${t("Alerts")} columns=${columns}>
      ${alerts.map((alert) => html`<tr key=${alert.id}>
        <td><${Link} href=${`/alerts/${alert.id}`}><bdi>${alert.name}</bdi></${Link}></td>
        <td><${PlateSummary} alert=${alert} /></td>
        <td>${alert.cameraScope === "all" ? t("All cameras") : tn(alert.cameraIds.length, "{n} camera", "{n} cameras")}</td>
        <td>${scheduleText(alert)}</td>
        <td class="number">${found.data.countedAt ? number(alert.triggerCount) : "–"}</td>
        <td>${ago(alert.lastTriggeredAt)}</td>
        <td>${alert.enabled ? html`<${Badge} kind="good">${t("Enabled")}</${Badge}>` : html`<${Badge} kind="off">${t("Disabled")}</${Badge}>`}</td>
        <td>${mayChange && html`<button type="button" disabled=${isBusy} aria-label=${alert.enabled ? t("Disable {name}", { name: alert.name }) : t("Enable {name}", { name: alert.name })} onClick=${() => toggle(alert)}>${alert.enabled ? t("Disable") : t("Enable")}</button>`}</td>
      </tr>`)}
    </${Table}>`}`;
}
