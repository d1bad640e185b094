/** @file A webhook: its form, secret, tests, replays and deliveries. */

import { html, useEffect, useMemo, useState } from "../html.js";
import { call, get } from "../api.js";
import { Deliveries } from "../deliveries.js";
import { fromLocalInput, number, toLocalInput } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { networksHint, urlFault } from "../notifications.js";
import { SigningSecret } from "../rotation.js";
import { Link, go, unsaved } from "../router.js";
import { Check, Confirm, Empty, Fault, Field, FormFault, Head, SelectField, TextField, Waiting, toast } from "../ui.js";
import { WebhookState } from "./webhooks.js";
import { t, tn } from "../words.js";

const EVENTS = {
  "recognition.created": () => t("Plate recognised"),
  "alert.triggered": () => t("Alert triggered (also sends alert.corrected when an early alert was wrong)"),
  "alert.confirmed": () => t("Early alert confirmed"),
  "camera.online": () => t("Camera came online"),
  "camera.offline": () => t("Camera went offline"),
};
/** Maximum number of events in one replay. */
const REPLAYED = 5000;
const FIELDS = ["name", "url", "events", "headers"];

/** @param {string} text one header per line */
function headersOf(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const at = line.indexOf(":");
    return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  }));
}

function Form({ webhook, onSaved }) {
  const [form, setForm] = useState({
    name: webhook?.name ?? "",
    url: webhook?.url ?? "",
    events: webhook?.events.filter((event) => event in EVENTS) ?? ["alert.triggered"],
    headers: Object.entries(webhook?.headers ?? {}).map(([name, value]) => `${name}: ${value}`).join("\n"),
    enabled: webhook?.enabled ?? true,
  });
  const { isBusy, failure, run } = useAction();
  const set = (name) => (value) => {
    unsaved.value = t("You have unsaved changes. Leave without saving?");
    setForm((before) => ({ ...before, [name]: value }));
  };
  useEffect(() => () => void (unsaved.value = ""), []);
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      const body = { ...form, url: form.url.trim(), headers: headersOf(form.headers) };
      const answer = webhook ? await call("PUT", `/api/webhooks/${webhook.id}`, { body }) : await call("POST", "/api/webhooks", { body });
      unsaved.value = "";
      toast(t("Saved"));
      onSaved(answer.webhook);
    });
  };
  const fault = (name) => failure?.fault(name);
  // The error is about the URL that was sent, not about later input.
  const ofUrl = useMemo(() => urlFault(form.url, fault("url")), [failure]);
  return html`<form class="panel" onSubmit=${submit}>
    <div class="fields">
      <${TextField} label=${t("Name")} required maxlength="200" value=${form.name} onValue=${set("name")} fault=${fault("name")} />
      <${TextField} wide label=${t("URL")} type="url" required spellcheck=${false} value=${form.url} onValue=${set("url")} fault=${ofUrl} hint=${networksHint()} />
      <fieldset class="wide"><legend>${t("Events")}</legend>${Object.entries(EVENTS).map(([event, text]) => html`<${Check} key=${event} label=${html`<code>${event}</code> ${text()}`} checked=${form.events.includes(event)}
        onValue=${(isOn) => set("events")(isOn ? [...form.events, event] : form.events.filter((one) => one !== event))} />`)}
        ${fault("events") && html`<p class="fault">${fault("events")}</p>`}</fieldset>
      <${Field} wide label=${t("Custom headers")} hint=${t("One per line, as Name: value")} fault=${fault("headers")}>${(ids) => html`<textarea ...${ids} rows="2" spellcheck=${false} value=${form.headers} onInput=${(event) => set("headers")(event.currentTarget.value)}></textarea>`}</${Field}>
    </div>
    <${Check} label=${t("Enabled")} checked=${form.enabled} onValue=${set("enabled")} />
    <${FormFault} failure=${failure} shown=${FIELDS} />
    <div class="actions"><button class="main" disabled=${isBusy}>${isBusy ? t("Saving…") : webhook ? t("Save changes") : t("Create webhook")}</button>${!webhook && html`<${Link} class="button" href="/webhooks">${t("Cancel")}</${Link}>`}</div>
  </form>`;
}

export function NewWebhookPage() {
  return html`<${Head} title=${t("New webhook")} /><${Form} webhook=${null} onSaved=${(webhook) => go(`/webhooks/${webhook.id}`, { replace: true })} />`;
}

function Sending({ webhook, onSent }) {
  const [event, setEvent] = useState(webhook.events[0]);
  const [from, setFrom] = useState(new Date(Date.now() - 3_600_000).toISOString());
  const [to, setTo] = useState(new Date().toISOString());
  const test = useAction();
  const replay = useAction();
  const sendTest = () => test.run(async () => {
    await call("POST", `/api/webhooks/${webhook.id}/test`, { body: { event } });
    toast(t("Test queued. Its status appears in the list."));
    onSent();
  });
  const send = () => replay.run(async () => {
    const { queued } = await call("POST", `/api/webhooks/${webhook.id}/replay`, { body: { from, to } });
    toast(tn(queued, "{n} event queued for replay", "{n} events queued for replay"));
    onSent();
  });
  const moment = (label, value, onValue) => html`<${Field} label=${label}>${(ids) => html`<input ...${ids} type="datetime-local" required value=${toLocalInput(value)} onChange=${(change) => onValue(fromLocalInput(change.currentTarget.value))} />`}</${Field}>`;
  return html`<section class="panel"><h2>${t("Test and replay")}</h2>
    <div class="actions"><${SelectField} label=${t("Event")} value=${event} onValue=${setEvent} options=${webhook.events.map((one) => [one, one])} /><button type="button" disabled=${test.isBusy} onClick=${sendTest}>${t("Send test")}</button></div>
    <${FormFault} failure=${test.failure} />
    <div class="actions">${moment(t("From"), from, setFrom)}${moment(t("To"), to, setTo)}<button type="button" disabled=${replay.isBusy || !from || !to} onClick=${send}>${t("Replay events")}</button></div>
    <p class="hint">${t("Events are marked as replays and sent after everything already queued. At most {n}.", { n: number(REPLAYED) })}</p>
    <${FormFault} failure=${replay.failure} />
  </section>`;
}

function Remove({ webhook, onClose }) {
  const { isBusy, failure, run } = useAction();
  const remove = () => run(async () => {
    await call("DELETE", `/api/webhooks/${webhook.id}`);
    unsaved.value = "";
    toast(t("Webhook deleted"));
    go("/webhooks");
  });
  return html`<${Confirm} title=${t("Delete {name}?", { name: webhook.name })} action=${t("Delete webhook")} isBusy=${isBusy} failure=${failure} onYes=${remove} onNo=${onClose}>${t("Pending deliveries are cancelled.")}</${Confirm}>`;
}

export function WebhookPage({ id }) {
  const found = useLoad((abort) => get(`/api/webhooks/${encodeURIComponent(id)}`, {}, abort).then((answer) => answer.webhook), [id]);
  const [isRemoving, setRemoving] = useState(false);
  const [sent, setSent] = useState(0);
  const webhook = found.data;
  if (!webhook) {
    return html`<${Head} title=${t("Webhook")} />
      ${found.failure?.status === 404 ? html`<${Empty} title=${t("Webhook not found")}><${Link} href="/webhooks">${t("Back to webhooks")}</${Link}></${Empty}>` : html`<${Fault} failure=${found.failure} retry=${found.reload} />`}
      ${found.isLoading && !found.failure && html`<${Waiting} />`}`;
  }
  const change = (changed) => found.change(() => changed);
  return html`<${Head} title=${html`<bdi>${webhook.name}</bdi>`} note=${html`<${WebhookState} webhook=${webhook} />`}><button type="button" class="danger" onClick=${() => setRemoving(true)}>${t("Delete webhook")}</button></${Head}>
    <${Form} webhook=${webhook} onSaved=${change} />
    <div class="columns"><${Sending} webhook=${webhook} onSent=${() => setSent(sent + 1)} /><${SigningSecret} title=${t("Signing secret")} note=${t("Signs every request so that your receiver can verify it.")} secret=${webhook.secret}
      path=${`/api/webhooks/${webhook.id}/rotate-secret`} until=${webhook.previousSecretUntil} onRotated=${(answer) => change(answer.webhook)} /></div>
    <section><h2>${t("Deliveries")}</h2><${Deliveries} path=${`/api/webhooks/${webhook.id}`} sent=${sent} /></section>
    ${isRemoving && html`<${Remove} webhook=${webhook} onClose=${() => setRemoving(false)} />`}`;
}
