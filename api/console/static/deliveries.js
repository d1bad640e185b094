/** @file Deliveries: what was sent to whom, how it went, and sending it again. */

import { html, useEffect, useState } from "./html.js";
import { call, get } from "./api.js";
import { useAction, useLoad } from "./load.js";
import { Link } from "./router.js";
import { useMay } from "./session.js";
import { Badge, Empty, Fault, FormFault, Moment, SelectField, Table, Waiting, tell } from "./ui.js";
import { t } from "./words.js";

/** @type {Record<string, [string, () => string]>} */
const OUTCOMES = {
  delivered: ["good", () => t("delivered")],
  retrying: ["wait", () => t("trying again")],
  dead: ["bad", () => t("given up")],
  cancelled: ["off", () => t("cancelled")],
};

const CAUSES = {
  event: () => "",
  test: () => t("test"),
  redelivery: () => t("sent again"),
  replay: () => t("replay"),
};

/** @type {Record<string, () => string>} */
const CHANNELS = { email: () => t("by e-mail"), apprise: () => t("by a service") };

const columns = (isAddressed) => [t("Event"), ...(isAddressed ? [t("To")] : []), t("Outcome"), { text: t("Attempts"), kind: "number" }, t("Last attempt"), t("Answer"), { text: t("Send again"), isHidden: true }];

/** The page of what a delivery goes to, where the list holds several. */
function Target({ one, names }) {
  const href = one.webhookId ? `/webhooks/${one.webhookId}` : `/alerts/${one.alertId}`;
  const name = names[one.webhookId ?? one.alertId];
  return html`<${Link} href=${href}>${name ? html`<bdi>${name}</bdi>` : one.webhookId ? t("a webhook") : t("an alert's notification")}</${Link}>`;
}

function DeliveryRows({ rows, onRedeliver, isBusy, names = null }) {
  // Who may change alerts may change webhooks.
  const maySend = useMay("alerts:write");
  return rows.map((one) => {
    const [kind, text] = OUTCOMES[one.outcome] ?? ["info", () => one.outcome];
    return html`<tr key=${one.id}>
      <td><code>${one.event}</code> ${CAUSES[one.cause]?.() ?? one.cause} ${CHANNELS[one.channel]?.() ?? ""}</td>
      ${names && html`<td><${Target} one=${one} names=${names} /></td>`}
      <td><${Badge} kind=${kind}>${text()}</${Badge}>${one.nextAttemptAt && html` <span class="note">${t("next")} <${Moment} at=${one.nextAttemptAt} /></span>`}</td>
      <td class="number">${one.attempts}</td>
      <td><${Moment} at=${one.lastAttemptAt} /> <span class="note">${t("{n} ms", { n: one.lastDurationMs })}</span></td>
      <td>${one.lastStatus ?? ""} <bdi>${one.lastError ?? ""}</bdi></td>
      <td>${maySend && html`<button type="button" disabled=${isBusy} onClick=${() => onRedeliver(one)}>${t("Send again")}</button>`}</td>
    </tr>`;
  });
}

/** Sends a delivery again, below the path that it is listed under. */
function useRedelivery(pathOf, onSent) {
  const { isBusy, failure, run } = useAction();
  const redeliver = (one) => run(async () => {
    await call("POST", `${pathOf(one)}/deliveries/${one.id}/redeliver`);
    tell(t("It is on its way; the list tells how it went."));
    onSent();
  });
  return { isBusy, failure, redeliver };
}

/**
 * The deliveries below a webhook's or an alert's path, filtered, each of which may be sent again.
 * Where `sent` grows they are read again, and often.
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
  return html`<div class="filters"><${SelectField} label=${t("Outcome")} value=${outcome} onValue=${setOutcome} options=${[["", t("any")], ...Object.entries(OUTCOMES).map(([name, [, text]]) => [name, text()])]} />
      <div class="field end"><button type="button" onClick=${found.reload}>${t("Read again")}</button></div></div>
    <${FormFault} failure=${failure} />
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${3} />`}
    ${found.data && !rows.length && html`<${Empty} title=${t("No deliveries in the last seven days.")} />`}
    ${rows.length > 0 && html`<${Table} caption=${t("Deliveries")} columns=${columns(false)}><${DeliveryRows} rows=${rows} onRedeliver=${redeliver} isBusy=${isBusy} /></${Table}>`}`;
}

/** The path below which a delivery is sent again. */
const pathOf = (one) => (one.webhookId ? `/api/webhooks/${one.webhookId}` : `/api/alertas/${one.alertId}`);

async function namesOf(abort) {
  const [webhooks, alerts] = await Promise.all([get("/api/webhooks", {}, abort), get("/api/alertas", {}, abort)]);
  return Object.fromEntries([...webhooks.webhooks, ...alerts.alerts].map((one) => [one.id, one.name]));
}

/** What was sent of a recognition, and of the alerts that it set off. */
export function RecognitionDeliveries({ id }) {
  const [isFollowed, setFollowed] = useState(false);
  const found = useLoad((abort) => get(`/api/recognitions/${id}/deliveries`, {}, abort), [id], { everySeconds: isFollowed ? 2 : 15 });
  const names = useLoad(namesOf, [id]);
  const { isBusy, failure, redeliver } = useRedelivery(pathOf, () => {
    setFollowed(true);
    found.reload();
  });
  const rows = found.data?.deliveries ?? [];
  return html`<section><h2>${t("What was sent")}</h2>
    <${FormFault} failure=${failure} />
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${2} />`}
    ${found.data && !rows.length && html`<p class="note">${t("Nothing was sent: no webhook or alert wanted it, or it is longer ago than three months.")}</p>`}
    ${rows.length > 0 && html`<${Table} caption=${t("Deliveries")} columns=${columns(true)}><${DeliveryRows} rows=${rows} onRedeliver=${redeliver} isBusy=${isBusy} names=${names.data ?? {}} /></${Table}>`}
  </section>`;
}
