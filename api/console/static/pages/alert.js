/** @file An alert, existing or new. */

import { html, useEffect, useState } from "../html.js";
import { call, get } from "../api.js";
import { ALERT_FIELDS, AlertFields, Trial, bodyOf, formOf } from "../alert-form.js";
import { Deliveries } from "../deliveries.js";
import { useCameras } from "../filters.js";
import { Triggers } from "../triggers.js";
import { ago } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { Link, go, unsaved } from "../router.js";
import { session, useMay } from "../session.js";
import { useSignal } from "../signal.js";
import { Confirm, Empty, Fault, FormFault, Head, Waiting, toast } from "../ui.js";
import { t, tn } from "../words.js";

function Form({ alert, query, onSaved }) {
  const zone = useSignal(session)?.timezone ?? "UTC";
  const [form, setForm] = useState(() => formOf(alert, { plate: query.plate, timezone: zone }));
  const cameras = useCameras();
  const known = useLoad((abort) => get("/api/alertas", { limit: 1 }, abort), []);
  const { isBusy, failure, run } = useAction();
  const mayChange = useMay("alerts:write");
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
    <${AlertFields} form=${form} onForm=${change} failure=${failure} cameras=${cameras.data} accountZone=${zone} sendsEmail=${known.data?.sendsEmail ?? true} />
    <${Trial} form=${form} />
    <${FormFault} failure=${failure} shown=${ALERT_FIELDS} /></fieldset>
    ${mayChange && html`<div class="actions sticky"><button class="main" disabled=${isBusy}>${isBusy ? t("Saving…") : alert ? t("Save changes") : t("Create alert")}</button><${Link} class="button" href="/alerts">${t("Cancel")}</${Link}></div>`}
  </form>`;
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

/** @param {any} one a notification */
const targetOf = (one) => (one.type === "email" ? one.addresses.join(", ") : one.url);

/** The deliveries of an alert's notifications, and a test of each notification. */
function Notifications({ alert }) {
  const [sent, setSent] = useState(0);
  const { isBusy, failure, run } = useAction();
  const mayTest = useMay("alerts:write");
  const test = (position) => run(async () => {
    await call("POST", `/api/alertas/${alert.id}/notifications/test`, { body: { notification: position } });
    toast(t("Test queued. Its status appears in the list."));
    setSent(sent + 1);
  });
  return html`<section><h2>${t("Notification deliveries")}</h2>
    ${mayTest && alert.notifications.length > 0 && html`<ul class="tests">${alert.notifications.map((one, position) => html`<li key=${position}><button type="button" disabled=${isBusy} onClick=${() => test(position)} aria-label=${t("Send test to {target}", { target: targetOf(one) })}>${t("Send test")}</button> <bdi>${targetOf(one)}</bdi></li>`)}</ul>`}
    <${FormFault} failure=${failure} />
    <${Deliveries} path=${`/api/alertas/${alert.id}`} sent=${sent} /></section>`;
}

export function AlertPage({ id, query }) {
  const found = useLoad((abort) => get(`/api/alertas/${encodeURIComponent(id)}`, {}, abort).then((answer) => answer.alert), [id]);
  const [isRemoving, setRemoving] = useState(false);
  const mayRemove = useMay("alerts:write");
  const alert = found.data;
  if (!alert) {
    return html`<${Head} title=${t("Alert")} />
      ${found.failure?.status === 404 ? html`<${Empty} title=${t("Alert not found")}><${Link} href="/alerts">${t("Back to alerts")}</${Link}></${Empty}>` : html`<${Fault} failure=${found.failure} retry=${found.reload} />`}
      ${found.isLoading && !found.failure && html`<${Waiting} />`}`;
  }
  const note = alert.lastTriggeredAt ? t("{fired}, last {ago}", { fired: tn(alert.triggerCount, "Triggered {n} time", "Triggered {n} times"), ago: ago(alert.lastTriggeredAt) }) : t("Not triggered yet");
  return html`<${Head} title=${html`<bdi>${alert.name}</bdi>`} note=${note}>${mayRemove && html`<button type="button" class="danger" onClick=${() => setRemoving(true)}>${t("Delete alert")}</button>`}</${Head}>
    <${Form} alert=${alert} query=${query} onSaved=${(saved) => found.change(() => saved)} />
    <${Triggers} alertId=${alert.id} />
    <${Notifications} alert=${alert} />
    ${isRemoving && html`<${Remove} alert=${alert} onClose=${() => setRemoving(false)} />`}`;
}
