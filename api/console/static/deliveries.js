/** @file Deliveries: what was sent, its status, and redelivery. */

import { html, useEffect, useState } from "./html.js";
import { call, get } from "./api.js";
import { useAction, useLoad } from "./load.js";
import { Link } from "./router.js";
import { useMay } from "./session.js";
import { Badge, Empty, Fault, FormFault, Moment, SelectField, Table, Waiting, toast } from "./ui.js";
import { t } from "./words.js";

/** @type {Record<string, [string, () => string]>} */
const OUTCOMES = {
  delivered: ["good", () => t("Delivered")],
  retrying: ["wait", () => t("Retrying")],
  dead: ["bad", () => t("Failed")],
  cancelled: ["off", () => t("Cancelled")],
};

/** The sentences of `lastError` (streams/webhooks) that are shown in the interface's language. @type {[RegExp, (value: string) => string][]} */
const ERRORS = [
  [/^No response within (\S+) s\.$/, (n) => t("No response within {n} s.", { n })],
  [/^Received status (\d+)\.$/, (status) => t("Received status {status}.", { status })],
  [/^The receiver's certificate is not trusted\.$/, () => t("The receiver's certificate is not trusted.")],
  [/^The TLS handshake failed\.$/, () => t("The TLS handshake failed.")],
  [/^The host name could not be resolved\.$/, () => t("The host name could not be resolved.")],
  [/^The URL is in a private network\./, () => t("The URL is in a private network. The server's administrator must allow this network: PLATESTREAM_WEBHOOK_ALLOWED_NETWORKS.")],
  [/^The connection failed\.$/, () => t("The connection failed.")],
  [/^No SMTP server is configured\.$/, () => t("Email isn't configured on this server.")],
  [/^Too many deliveries are pending\.$/, () => t("Too many deliveries are pending.")],
  [/^The recipient was removed\.$/, () => t("The recipient was removed from the alert.")],
  [/^The webhook was deleted\.$/, () => t("The webhook was deleted.")],
  [/^The webhook is disabled\.$/, () => t("The webhook is disabled.")],
];

/** @param {string | null} error of a delivery */
export function errorOf(error) {
  const found = ERRORS.find(([form]) => form.test(error ?? ""));
  return found ? found[1](found[0].exec(error ?? "")?.[1] ?? "") : (error ?? "");
}

const CAUSES = {
  event: () => "",
  test: () => t("test"),
  redelivery: () => t("redelivery"),
  replay: () => t("replay"),
};

/** @type {Record<string, () => string>} */
export const CHANNELS = { email: () => t("email"), apprise: () => t("push, chat or SMS"), http: () => t("HTTP endpoint") };

/** Returns the kind and text of the badge for a delivery's outcome. @param {{outcome: string}} one */
export function outcomeOf({ outcome }) {
  const [kind, text] = OUTCOMES[outcome] ?? ["info", () => outcome];
  return [kind, text()];
}

const columns = (isAddressed) => [t("Event"), ...(isAddressed ? [t("Destination")] : []), t("Status"), { text: t("Attempts"), kind: "number" }, t("Last attempt"), t("Response"), { text: t("Redeliver"), isHidden: true }];

/** A link to the webhook or alert of a delivery, in lists of several webhooks and alerts. */
function Target({ one, names }) {
  const href = one.webhookId ? `/webhooks/${one.webhookId}` : `/alerts/${one.alertId}`;
  const name = names[one.webhookId ?? one.alertId];
  return html`<${Link} href=${href}>${name ? html`<bdi>${name}</bdi>` : one.webhookId ? t("Webhook") : t("Alert notification")}</${Link}>`;
}

function DeliveryRows({ rows, onRedeliver, isBusy, names = null }) {
  // Roles with alerts:write also have webhooks:write.
  const maySend = useMay("alerts:write");
  return rows.map((one) => {
    const [kind, text] = outcomeOf(one);
    return html`<tr key=${one.id}>
      <td><code class="event">${one.event}</code> ${CAUSES[one.cause]?.() ?? one.cause} ${one.channel !== "http" && CHANNELS[one.channel] && t("via {channel}", { channel: CHANNELS[one.channel]() })}</td>
      ${names && html`<td><${Target} one=${one} names=${names} /></td>`}
      <td><${Badge} kind=${kind}>${text}</${Badge}>${one.nextAttemptAt && html` <span class="note">${t("next attempt")} <${Moment} at=${one.nextAttemptAt} /></span>`}</td>
      <td class="number">${one.attempts}</td>
      <td><${Moment} at=${one.lastAttemptAt} /> <span class="note">${t("{n} ms", { n: one.lastDurationMs })}</span></td>
      <td>${one.lastStatus ?? ""} <bdi>${errorOf(one.lastError)}</bdi></td>
      <td>${maySend && html`<button type="button" disabled=${isBusy} onClick=${() => onRedeliver(one)}>${t("Redeliver")}</button>`}</td>
    </tr>`;
  });
}

/** Redelivers a delivery, below the path that lists it. */
function useRedelivery(pathOf, onSent) {
  const { isBusy, failure, run } = useAction();
  const redeliver = (one) => run(async () => {
    await call("POST", `${pathOf(one)}/deliveries/${one.id}/redeliver`);
    toast(t("Redelivery queued. Its status appears in the list."));
    onSent();
  });
  return { isBusy, failure, redeliver };
}

/**
 * The deliveries of a webhook or an alert, with a filter. Each can be redelivered.
 * When `sent` increases, the list is reloaded immediately and then every two seconds.
 */
export function Deliveries({ path, sent = 0 }) {
  const [outcome, setOutcome] = useState("");
  const [isFollowed, setFollowed] = useState(false);
  const found = useLoad((abort) => get(`${path}/deliveries`, { outcome }, abort), [path, outcome], { everySeconds: isFollowed || sent ? 2 : 15 });
  useEffect(() => {
    if (sent) found.reload();
  }, [sent]);
  const { isBusy, failure, redeliver } = useRedelivery(() => path, () => {
    setFollowed(true);
    found.reload();
  });
  const rows = found.data?.deliveries ?? [];
  return html`<div class="filters"><${SelectField} label=${t("Status")} value=${outcome} onValue=${setOutcome} options=${[["", t("All statuses")], ...Object.entries(OUTCOMES).map(([name, [, text]]) => [name, text()])]} />
      <div class="field end"><button type="button" onClick=${found.reload}>${t("Refresh")}</button></div></div>
    <${FormFault} failure=${failure} />
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${3} />`}
    ${found.data && !rows.length && html`<${Empty} title=${outcome ? t("No deliveries with this status") : t("No deliveries in the last 7 days")} />`}
    ${rows.length > 0 && html`<${Table} caption=${t("Deliveries")} columns=${columns(false)}><${DeliveryRows} rows=${rows} onRedeliver=${redeliver} isBusy=${isBusy} /></${Table}>`}`;
}

/** Returns the path of a delivery's webhook or alert. */
const pathOf = (one) => (one.webhookId ? `/api/webhooks/${one.webhookId}` : `/api/alertas/${one.alertId}`);

/** Returns why nothing was sent. @param {any[]} outcomes of the recognition, each with its alert */
function whyNothing(outcomes) {
  const triggered = outcomes.filter((one) => one.outcome === "fired" || one.outcome === "withdrawn");
  if (triggered.some((one) => one.alert?.notifications.length)) return t("Nothing was sent yet, the recipients were added later, or this was more than 3 months ago.");
  if (triggered.length) return t("Nothing was sent: no alert that triggered has recipients.");
  if (outcomes.some((one) => one.outcome === "held_back")) return t("Nothing was sent: the alert was in cooldown.");
  return t("Nothing was sent: no webhook or alert applied, or this was more than 3 months ago.");
}

/** The deliveries of a recognition and of the alerts that it triggered. @param {{id: string, outcomes: any[] | null}} props `outcomes`: null while they load */
export function RecognitionDeliveries({ id, outcomes }) {
  const [isFollowed, setFollowed] = useState(false);
  const found = useLoad((abort) => get(`/api/recognitions/${id}/deliveries`, {}, abort), [id], { everySeconds: isFollowed ? 2 : 15 });
  const webhooks = useLoad((abort) => get("/api/webhooks", {}, abort).then((answer) => answer.webhooks), [id]);
  const names = Object.fromEntries([...(webhooks.data ?? []).map((one) => [one.id, one.name]), ...(outcomes ?? []).map((one) => [one.alertId, one.alertName])]);
  const { isBusy, failure, redeliver } = useRedelivery(pathOf, () => {
    setFollowed(true);
    found.reload();
  });
  const rows = found.data?.deliveries ?? [];
  return html`<section><h2>${t("Deliveries")}</h2>
    <${FormFault} failure=${failure} />
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!rows.length && !(found.data && outcomes) && !found.failure && html`<${Waiting} rows=${2} />`}
    ${found.data && outcomes && !rows.length && html`<p class="note">${whyNothing(outcomes)}</p>`}
    ${rows.length > 0 && html`<${Table} caption=${t("Deliveries")} columns=${columns(true)}><${DeliveryRows} rows=${rows} onRedeliver=${redeliver} isBusy=${isBusy} names=${names} /></${Table}>`}
  </section>`;
}
