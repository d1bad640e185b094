/** @file An alert, existing or new. */

import { html, useEffect, useState } from "../html.js";
import { call, get } from "../api.js";
import { ALERT_FIELDS, AlertFields, bodyOf, formOf } from "../alert-form.js";
import { CHANNELS, Deliveries, errorOf } from "../deliveries.js";
import { useCameras } from "../filters.js";
import { Trial } from "../trial.js";
import { Triggers } from "../triggers.js";
import { ago } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { Link, go, unsaved } from "../router.js";
import { session, useMay } from "../session.js";
import { useSignal } from "../signal.js";
import { Confirm, Empty, Fault, FormFault, Head, Waiting, toast } from "../ui.js";
import { t, tn } from "../words.js";

function Form({ alert, query, onSaved, onSent = () => {} }) {
  const zone = useSignal(session)?.timezone ?? "UTC";
  const [form, setForm] = useState(() => formOf(alert, { plate: query.plate, timezone: zone }));
  const cameras = useCameras();
  const known = useLoad((abort) => get("/api/alertas", { limit: 1 }, abort), []);
  const { isBusy, failure, run } = useAction();
  const mayChange = useMay("alerts:write");
  const mayTry = useMay("recognitions:read");
  const change = (next) => {
    unsaved.value = t("You have unsaved changes. Leave without saving?");
    setForm(next);
  };
  useEffect(() => () => void (unsaved.value = ""), []);
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      const answer = alert ? await call("PUT", `/api/alertas/${alert.id}`, { body: bodyOf(form) }) : await call("POST", "/api/alertas", { body: bodyOf(form) });
      unsaved.value = "";
      toast(t("Saved"));
      // The API masks secrets in the URLs of services.
      setForm(formOf(answer.alert, { timezone: zone }));
      onSaved(answer.alert);
    });
  };
  return html`<form onSubmit=${submit}><fieldset disabled=${!mayChange}>
    <${AlertFields} form=${form} onForm=${change} failure=${failure} cameras=${cameras.data} accountZone=${zone} sendsEmail=${known.data?.sendsEmail ?? true} alertId=${alert?.id} onSent=${onSent} />
    <${FormFault} failure=${failure} shown=${ALERT_FIELDS} /></fieldset>
    ${mayChange && html`<div class="actions sticky"><button class="main" disabled=${isBusy}>${isBusy ? t("Saving…") : alert ? t("Save changes") : t("Create alert")}</button><${Link} class="button" href="/alerts">${t("Cancel")}</${Link}></div>`}
  </form>
  ${mayTry && html`<${Trial} form=${form} />`}`;
}

export function NewAlertPage({ query }) {
  return html`<${Head} title=${t("New alert")} /><${Form} alert=${null} query=${query} onSaved=${(alert) => go(`/alerts/${alert.id}`, { replace: true })} />`;
}

function Remove({ alert, onClose }) {
  const { isBusy, failure, run } = useAction();
  const remove = () => run(async () => {
    await call("DELETE", `/api/alertas/${alert.id}`);
    unsaved.value = "";
    toast(t("Alert deleted"));
    go("/alerts");
  });
  return html`<${Confirm} title=${t("Delete {name}?", { name: alert.name })} action=${t("Delete alert")} isBusy=${isBusy} failure=${failure} onYes=${remove} onNo=${onClose} />`;
}

/** Shows which kinds of notifications failed last. */
function Failing({ alertId, sent }) {
  const found = useLoad((abort) => get(`/api/alertas/${alertId}/deliveries`, {}, abort).then((answer) => answer.deliveries), [alertId, sent], { everySeconds: 30 });
  const last = new Map();
  // The most recent attempt comes first.
  for (const one of found.data ?? []) if (!last.has(one.channel)) last.set(one.channel, one);
  const failing = [...last.values()].filter((one) => one.outcome === "dead" || one.outcome === "retrying");
  return failing.map((one) => html`<p key=${one.channel} class="warning"><strong>${t("The last notification failed ({channel}):", { channel: CHANNELS[one.channel]?.() ?? one.channel })}</strong> <bdi>${errorOf(one.lastError)}</bdi> <a href="#deliveries">${t("View deliveries")}</a></p>`);
}

export function AlertPage({ id, query }) {
  const found = useLoad((abort) => get(`/api/alertas/${encodeURIComponent(id)}`, {}, abort).then((answer) => answer.alert), [id]);
  const [isRemoving, setRemoving] = useState(false);
  const [sent, setSent] = useState(0);
  const mayRemove = useMay("alerts:write");
  const alert = found.data;
  if (!alert) {
    return html`<${Head} title=${t("Alert")} />
      ${found.failure?.status === 404 ? html`<${Empty} title=${t("Alert not found")}><${Link} href="/alerts">${t("Back to alerts")}</${Link}></${Empty}>` : html`<${Fault} failure=${found.failure} retry=${found.reload} />`}
      ${found.isLoading && !found.failure && html`<${Waiting} />`}`;
  }
  const note = alert.lastTriggeredAt ? t("{fired}, last {ago}", { fired: tn(alert.triggerCount, "Triggered {n} time", "Triggered {n} times"), ago: ago(alert.lastTriggeredAt) }) : t("Not triggered yet");
  return html`<${Head} title=${html`<bdi>${alert.name}</bdi>`} note=${note}>${mayRemove && html`<button type="button" class="danger" onClick=${() => setRemoving(true)}>${t("Delete alert")}</button>`}</${Head}>
    <${Failing} alertId=${alert.id} sent=${sent} />
    <${Form} alert=${alert} query=${query} onSaved=${(saved) => found.change(() => saved)} onSent=${() => setSent((count) => count + 1)} />
    <${Triggers} alertId=${alert.id} />
    <section id="deliveries"><h2>${t("Notification deliveries")}</h2><${Deliveries} path=${`/api/alertas/${alert.id}`} sent=${sent} /></section>
    ${isRemoving && html`<${Remove} alert=${alert} onClose=${() => setRemoving(false)} />`}`;
}
