/** @file All alerts: their conditions, recipients and last trigger. */

import { html } from "../html.js";
import { call, get } from "../api.js";
import { ago, number } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { SigningSecret } from "../rotation.js";
import { Link } from "../router.js";
import { scheduleText } from "../schedule.js";
import { useMay } from "../session.js";
import { Badge, Empty, Fault, FormFault, Head, Plate, Switch, Table, Waiting } from "../ui.js";
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

/** Who an alert notifies: the first recipient or host, and how many more. */
function Recipients({ alert }) {
  const all = alert.notifications.flatMap((one) => (one.type === "email" ? one.addresses : [one.type === "webhook" ? hostOf(one.url) : one.url]));
  if (!all.length) return "–";
  return html`<bdi>${all[0]}</bdi>${all.length > 1 && html` <span class="nowrap">${t("+{n} more", { n: number(all.length - 1) })}</span>`}`;
}

/** @param {string} url */
const hostOf = (url) => (URL.canParse(url) ? new URL(url).host : url);

export function AlertsPage() {
  const found = useLoad((abort) => get("/api/alertas", {}, abort), ["alerts"], { everySeconds: 15 });
  const { isBusy, failure, run } = useAction();
  const mayChange = useMay("alerts:write");
  const toggle = (alert) => run(async () => {
    await call("PUT", `/api/alertas/${alert.id}`, { body: { enabled: !alert.enabled } });
    found.reload();
  });
  const alerts = found.data?.alerts ?? [];
  const secret = found.data?.notificationSecret;
  const columns = [t("Name"), t("Plates"), t("Cameras"), t("Schedule"), t("Notifications"), t("Last triggered"), t("Enabled")];
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
        <td><${Recipients} alert=${alert} /></td>
        <td>${ago(alert.lastTriggeredAt)}</td>
        <td>${mayChange
          ? html`<${Switch} label=${t("Enable {name}", { name: alert.name })} isOn=${alert.enabled} disabled=${isBusy} onClick=${() => toggle(alert)} />`
          : html`<${Badge} kind=${alert.enabled ? "good" : "off"}>${alert.enabled ? t("Enabled") : t("Disabled")}</${Badge}>`}</td>
      </tr>`)}
    </${Table}>`}
    ${secret && html`<${SigningSecret} title=${t("Alert notification secret")} note=${t("Signs requests to the HTTP endpoints of all alerts, so that your receiver can verify them.")} secret=${secret}
      mayRotate=${mayChange} path="/api/alertas/rotate-notification-secret" until=${found.data.previousNotificationSecretUntil} onRotated=${found.reload} />`}`;
}
