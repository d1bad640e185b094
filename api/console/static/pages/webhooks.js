/** @file All webhooks: their URLs, events and status. */

import { html } from "../html.js";
import { get } from "../api.js";
import { ago } from "../format.js";
import { useLoad } from "../load.js";
import { Link } from "../router.js";
import { Badge, Empty, Fault, Head, Table, Waiting } from "../ui.js";
import { t, tn } from "../words.js";

/** The status of a webhook. */
export function WebhookState({ webhook }) {
  if (!webhook.enabled) return html`<${Badge} kind="off">${t("Disabled")}</${Badge}>${webhook.disabledReason && html` <span class="note"><bdi>${webhook.disabledReason}</bdi></span>`}`;
  if (webhook.failureCount) return html`<${Badge} kind="bad">${tn(webhook.failureCount, "{n} failed delivery", "{n} failed deliveries")}</${Badge}>`;
  if (webhook.failedAttempts) return html`<${Badge} kind="wait">${tn(webhook.failedAttempts, "{n} failed attempt", "{n} failed attempts")}</${Badge}>`;
  return webhook.lastDeliveryAt ? html`<${Badge} kind="good">${t("Healthy")}</${Badge}>` : html`<${Badge} kind="off">${t("No deliveries yet")}</${Badge}>`;
}

export function WebhooksPage() {
  const found = useLoad((abort) => get("/api/webhooks", {}, abort).then((answer) => answer.webhooks), ["webhooks"], { everySeconds: 15 });
  const webhooks = found.data ?? [];
  return html`<${Head} title=${t("Webhooks")} note=${t("Get recognition, alert and camera events in your own systems over HTTP.")}><${Link} class="button main" href="/webhooks/new">${t("Create webhook")}</${Link}></${Head}>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${4} />`}
    ${found.data && !webhooks.length && html`<${Empty} title=${t("No webhooks yet")}>${t("Create a webhook to receive events in your own systems.")} <${Link} href="/webhooks/new">${t("Create webhook")}</${Link}></${Empty}>`}
    ${webhooks.length > 0 && html`<${Table} caption=${t("Webhooks")} columns=${[t("Name"), t("URL"), t("Events"), t("Status"), t("Last delivery")]}>
      ${webhooks.map((webhook) => html`<tr key=${webhook.id}>
        <td><${Link} href=${`/webhooks/${webhook.id}`}><bdi>${webhook.name}</bdi></${Link}></td><td><code class="long">${webhook.url}</code></td>
        <td>${webhook.events.map((event) => html`<code key=${event} class="event">${event}</code> `)}</td>
        <td><${WebhookState} webhook=${webhook} /></td><td>${ago(webhook.lastDeliveryAt)} ${webhook.lastDeliveryStatus ? `(${webhook.lastDeliveryStatus})` : ""}</td>
      </tr>`)}
    </${Table}>`}`;
}
