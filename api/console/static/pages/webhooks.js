/** @file All webhooks: where events go, and how that is going. */

import { html } from "../html.js";
import { get } from "../api.js";
import { ago, number } from "../format.js";
import { useLoad } from "../load.js";
import { Rotation } from "../rotation.js";
import { Link } from "../router.js";
import { useMay } from "../session.js";
import { Badge, CopyButton, Empty, Fault, Head, Table, Waiting } from "../ui.js";
import { t } from "../words.js";

/** How a webhook is doing, in a word. */
export function WebhookState({ webhook }) {
  if (!webhook.enabled) return html`<${Badge} kind="off">${t("off")}</${Badge}>${webhook.disabledReason && html` <span class="note"><bdi>${webhook.disabledReason}</bdi></span>`}`;
  if (webhook.failureCount) return html`<${Badge} kind="bad">${t("{n} given up", { n: number(webhook.failureCount) })}</${Badge}>`;
  if (webhook.failedAttempts) return html`<${Badge} kind="wait">${t("{n} failed attempts", { n: number(webhook.failedAttempts) })}</${Badge}>`;
  return html`<${Badge} kind="good">${webhook.lastDeliveryAt ? t("good") : t("nothing sent yet")}</${Badge}>`;
}

/** The secret of the URLs that alerts name themselves. */
function NotificationSecret() {
  const found = useLoad((abort) => get("/api/alertas", {}, abort), ["secret"]);
  const mayRotate = useMay("alerts:write");
  const secret = found.data?.notificationSecret;
  if (!secret) return null;
  return html`<section class="panel"><h2>${t("Notifications of alerts")}</h2>
    <p class="note">${t("An alert also tells the e-mail addresses and URLs that it names itself. What goes to such URLs is signed with one secret for all alerts.")}</p>
    <div class="actions"><${CopyButton} text=${secret} label=${t("Copy the secret")} /><${Link} class="button" href="/alerts">${t("Alerts")}</${Link}></div>
    ${mayRotate && html`<${Rotation} path="/api/alertas/rotate-notification-secret" until=${found.data.previousNotificationSecretUntil} onRotated=${found.reload} />`}
  </section>`;
}

export function WebhooksPage() {
  const found = useLoad((abort) => get("/api/webhooks", {}, abort).then((answer) => answer.webhooks), ["webhooks"], { everySeconds: 15 });
  const webhooks = found.data ?? [];
  return html`<${Head} title=${t("Webhooks")} note=${t("Programs that are told of passes, alerts and cameras by HTTP.")}><${Link} class="button main" href="/webhooks/new">${t("New webhook")}</${Link}></${Head}>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${4} />`}
    ${found.data && !webhooks.length && html`<${Empty} title=${t("No webhook yet.")}><${Link} href="/webhooks/new">${t("Make one")}</${Link}></${Empty}>`}
    ${webhooks.length > 0 && html`<${Table} caption=${t("Webhooks")} columns=${[t("Name"), t("Address"), t("Events"), t("State"), t("Last delivery")]}>
      ${webhooks.map((webhook) => html`<tr key=${webhook.id}>
        <td><${Link} href=${`/webhooks/${webhook.id}`}><bdi>${webhook.name}</bdi></${Link}></td><td><code class="long">${webhook.url}</code></td>
        <td>${webhook.events.map((event) => html`<code key=${event} class="event">${event}</code> `)}</td>
        <td><${WebhookState} webhook=${webhook} /></td><td>${ago(webhook.lastDeliveryAt)} ${webhook.lastDeliveryStatus ? `(${webhook.lastDeliveryStatus})` : ""}</td>
      </tr>`)}
    </${Table}>`}
    <${NotificationSecret} />`;
}
