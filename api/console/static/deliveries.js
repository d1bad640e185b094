/** @file Deliveries: what was sent to whom, how it went, and sending it again. */

import { html, useEffect, useState } from "./html.js";
import { call, get } from "./api.js";
import { useAction, useLoad } from "./load.js";
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

const columns = () => [t("Event"), t("Outcome"), { text: t("Attempts"), kind: "number" }, t("Last attempt"), t("Answer"), { text: t("Send again"), isHidden: true }];

function DeliveryRows({ rows, onRedeliver, isBusy }) {
  return rows.map((one) => {
    const [kind, text] = OUTCOMES[one.outcome] ?? ["info", () => one.outcome];
    return html`<tr key=${one.id}>
      <td><code>${one.event}</code> ${CAUSES[one.cause]?.() ?? one.cause} ${one.channel === "email" ? t("by e-mail") : ""}</td>
      <td><${Badge} kind=${kind}>${text()}</${Badge}>${one.nextAttemptAt && html` <span class="note">${t("next")} <${Moment} at=${one.nextAttemptAt} /></span>`}</td>
      <td class="number">${one.attempts}</td>
      <td><${Moment} at=${one.lastAttemptAt} /> <span class="note">${t("{n} ms", { n: one.lastDurationMs })}</span></td>
      <td>${one.lastStatus ?? ""} <bdi>${one.lastError ?? ""}</bdi></td>
      <td><button type="button" disabled=${isBusy} onClick=${() => onRedeliver(one)}>${t("Send again")}</button></td>
    </tr>`;
  });
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
  const { isBusy, failure, run } = useAction();
  const redeliver = (one) => run(async () => {
    await call("POST", `${path}/deliveries/${one.id}/redeliver`);
    tell(t("It is on its way; the list tells how it went."));
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
    ${rows.length > 0 && html`<${Table} caption=${t("Deliveries")} columns=${columns()}><${DeliveryRows} rows=${rows} onRedeliver=${redeliver} isBusy=${isBusy} /></${Table}>`}`;
}
