/** @file The form of an alert, and its test on past recognitions. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { cameraName, dateTime, number } from "./format.js";
import { useAction } from "./load.js";
import { PlateListField, plateListOf, textOfPlates } from "./plate-list.js";
import { Link } from "./router.js";
import { ScheduleFields } from "./schedule.js";
import { useMay } from "./session.js";
import { Check, Field, FormFault, Plate, SelectField, Confidence, Table, TextField } from "./ui.js";
import { t, tn } from "./words.js";

const DAY_MS = 86_400_000;
const CALLS = 30;

export const ALERT_FIELDS = ["name", "description", "plates", "plateNames", "cameraIds", "schedule", "timezone", "minConfidence", "cooldownMinutes", "notifications"];

/** @param {any} alert as returned by the API; null: a new alert @param {{plate?: string, timezone?: string}} [given] */
export function formOf(alert, given = {}) {
  const notifications = alert?.notifications ?? [];
  return {
    name: alert?.name ?? (given.plate ? t("Plate {plate}", { plate: given.plate }) : ""),
    description: alert?.description ?? "",
    enabled: alert?.enabled ?? true,
    plateMatchMode: alert?.plateMatchMode ?? "specific",
    plates: textOfPlates(alert?.plates ?? (given.plate ? [given.plate] : []), alert?.plateNames ?? {}),
    matchTolerance: String(alert?.matchTolerance ?? 0),
    early: alert ? alert.early : false,
    cameraScope: alert?.cameraScope ?? "all",
    cameraIds: alert?.cameraIds ?? [],
    scheduleEnabled: alert?.scheduleEnabled ?? false,
    schedule: alert?.schedule ?? { startTime: "22:00", endTime: "06:00", daysOfWeek: [] },
    timezone: alert?.timezone && alert.timezone !== given.timezone ? alert.timezone : "",
    minConfidence: String(Math.round((alert?.minConfidence ?? 0.5) * 100)),
    cooldownMinutes: String(alert?.cooldownMinutes ?? 5),
    // Empty in a new alert until a person selects one. Until then, the match mode decides.
    cooldownScope: alert?.cooldownScope ?? "",
    emails: notifications.filter((one) => one.type === "email").flatMap((one) => one.addresses).join("\n"),
    urls: notifications.filter((one) => one.type === "webhook").map((one) => one.url).join("\n"),
    // Their URLs are masked. The ID keeps the stored URL.
    services: notifications.filter((one) => one.type === "apprise"),
    newServices: "",
  };
}

/** In an alert for listed plates, one plate does not suppress another. */
const cooldownScopeOf = (form) => form.cooldownScope || (form.plateMatchMode === "specific" ? "plate" : "alert");

const lines = (text) => [...new Set(text.split(/[\s,;]+/).filter(Boolean))];

// A URL may contain a comma or a semicolon.
const addresses = (text) => [...new Set(text.split(/\s+/).filter(Boolean))];

/** Returns the request body of a form. */
export function bodyOf(form) {
  const emails = lines(form.emails);
  const list = plateListOf(form.plateMatchMode === "any" ? "" : form.plates);
  return {
    name: form.name,
    description: form.description,
    enabled: form.enabled,
    plateMatchMode: form.plateMatchMode,
    plates: list.plates,
    plateNames: list.names,
    matchTolerance: Number(form.matchTolerance),
    early: form.early,
    cameraScope: form.cameraScope,
    cameraIds: form.cameraScope === "specific" ? form.cameraIds : [],
    scheduleEnabled: form.scheduleEnabled,
    schedule: form.schedule,
    timezone: form.timezone || null,
    minConfidence: Number(form.minConfidence) / 100,
    cooldownMinutes: Number(form.cooldownMinutes),
    cooldownScope: cooldownScopeOf(form),
    notifications: [
      ...(emails.length ? [{ type: "email", addresses: emails }] : []),
      ...lines(form.urls).map((url) => ({ type: "webhook", url })),
      ...form.services,
      ...addresses(form.newServices).map((url) => ({ type: "apprise", url })),
    ],
  };
}

function CamerasChoice({ form, onForm, cameras, fault }) {
  const toggle = (id) => (isOn) => onForm({ ...form, cameraIds: isOn ? [...form.cameraIds, id] : form.cameraIds.filter((each) => each !== id) });
  return html`<fieldset class="wide"><legend>${t("Cameras")}</legend>
    <div class="fields"><div class="field"><select aria-label=${t("Cameras")} value=${form.cameraScope} onChange=${(event) => onForm({ ...form, cameraScope: event.currentTarget.value })}>
      <option value="all" selected=${form.cameraScope === "all"}>${t("All cameras and Image API")}</option><option value="specific" selected=${form.cameraScope === "specific"}>${t("Selected cameras")}</option></select></div></div>
    ${form.cameraScope === "specific" && html`<div class="choices">${(cameras ?? []).map((camera) => html`<${Check} key=${camera.id} label=${html`<bdi>${camera.name}</bdi>`} checked=${form.cameraIds.includes(camera.id)} onValue=${toggle(camera.id)} />`)}</div>`}
    ${form.cameraScope === "specific" && !form.cameraIds.length && html`<p class="hint">${t("No camera selected, so this alert never triggers.")}</p>`}
    ${fault && html`<p class="fault">${fault}</p>`}
  </fieldset>`;
}

/** Push, chat and SMS notifications. Stored ones are shown with a masked URL. */
function Services({ form, onForm, fault }) {
  const without = (removed) => () => onForm({ ...form, services: form.services.filter((one) => one.id !== removed.id) });
  return html`<${Field} label=${t("Push, chat and SMS (Apprise URLs)")} hint=${t("One per line, for example ntfys://ntfy.sh/my-topic or tgram://token/chat. Secrets are hidden once saved.")} fault=${fault}>${(ids) => html`<textarea ...${ids} rows="3" spellcheck=${false} autocomplete="off" value=${form.newServices} onInput=${(event) => onForm({ ...form, newServices: event.currentTarget.value })}></textarea>`}</${Field}>
    ${form.services.length > 0 && html`<ul class="tests wide">${form.services.map((one) => html`<li key=${one.id}><button type="button" onClick=${without(one)} aria-label=${t("Remove {name}", { name: one.url })}>${t("Remove")}</button> <bdi>${one.url}</bdi></li>`)}</ul>`}`;
}

/** Returns whether a field error belongs to a notification of a type, by its index in the body. */
const isOf = (form, kind) => (field) => {
  const place = /^notifications\.(\d+)/.exec(field.path);
  return place !== null && bodyOf(form).notifications[Number(place[1])]?.type === kind;
};

/** Returns the error of an entry in the plate list, with the entry. */
function plateFault(form, failure) {
  const found = failure?.fields.find((field) => /^plates\.\d+/.test(field.path));
  const plate = found && bodyOf(form).plates[Number(found.path.split(".")[1])];
  return plate && `${plate}: ${found.message}`;
}

export function AlertFields({ form, onForm, failure, cameras, accountZone, sendsEmail }) {
  const seesWebhooks = useMay("webhooks:read");
  const set = (name) => (value) => onForm({ ...form, [name]: value });
  const fault = (name) => failure?.fault(name);
  return html`<section class="panel"><h2>${t("Conditions")}</h2><div class="fields">
      <${TextField} label=${t("Name")} required maxlength="200" value=${form.name} onValue=${set("name")} fault=${fault("name")} />
      <${TextField} label=${t("Description")} maxlength="2000" value=${form.description} onValue=${set("description")} fault=${fault("description")} hint=${t("Included in alert emails")} />
      <${SelectField} label=${t("Trigger on")} value=${form.plateMatchMode} onValue=${set("plateMatchMode")} options=${[["specific", t("Listed plates")], ["allowlist", t("Any plate not on the list")], ["any", t("Any plate")]]} />
      <${SelectField} label=${t("Misread tolerance")} value=${form.matchTolerance} onValue=${set("matchTolerance")} options=${[["0", t("None")], ["1", t("1 character or look-alike")], ["2", t("2 characters or look-alikes")]]} disabled=${form.plateMatchMode === "any"} />
      ${form.plateMatchMode !== "any" && html`<${PlateListField} text=${form.plates} onText=${set("plates")} fault=${plateFault(form, failure) ?? fault("plates") ?? fault("plateNames")} />`}
      <${Field} label=${t("Minimum confidence (%)")} fault=${fault("minConfidence")}>${(ids) => html`<input ...${ids} type="number" min="0" max="100" step="1" required value=${form.minConfidence} onInput=${(event) => set("minConfidence")(event.currentTarget.value)} />`}</${Field}>
      <${CamerasChoice} form=${form} onForm=${onForm} cameras=${cameras} fault=${fault("cameraIds")} />
    </div></section>
    <section class="panel"><h2>${t("Schedule and cooldown")}</h2>
      <${ScheduleFields} form=${form} onForm=${onForm} failure=${failure} accountZone=${accountZone} />
      <div class="fields">
        <${Field} label=${t("Cooldown (minutes)")} fault=${fault("cooldownMinutes")} hint=${t("Minimum time between triggers. 0 turns it off.")}>${(ids) => html`<input ...${ids} type="number" min="0" max="527040" step="any" required value=${form.cooldownMinutes} onInput=${(event) => set("cooldownMinutes")(event.currentTarget.value)} />`}</${Field}>
        <${SelectField} label=${t("Cooldown applies to")} value=${cooldownScopeOf(form)} onValue=${set("cooldownScope")} options=${[["alert", t("Whole alert")], ["plate", t("Each plate")], ["plate_camera", t("Each plate at each camera")]]} />
      </div>
      <${Check} label=${t("Trigger early, before the vehicle has left")} checked=${form.early} onValue=${set("early")}
        hint=${t("Triggers as soon as two readings agree, often seconds sooner. Once the vehicle has left, a second event confirms or corrects it, so receivers must be able to undo what they did. Email, push, chat and SMS always wait until then.")} />
    </section>
    <section class="panel"><h2>${t("Notifications")}</h2><div class="fields">
      <${Field} label=${t("Email recipients")} hint=${t("One per line")} fault=${failure?.fields.find((field) => field.path.includes("addresses"))?.message}>${(ids) => html`<textarea ...${ids} rows="3" spellcheck=${false} value=${form.emails} onInput=${(event) => set("emails")(event.currentTarget.value)}></textarea>`}</${Field}>
      ${!sendsEmail && form.emails.trim() && html`<p class="fault wide" role="status">${t("Email isn't configured on this server (PLATESTREAM_SMTP_HOST), so these recipients get nothing.")}</p>`}
      <${Field} label=${t("HTTP endpoints")} hint=${t("One per line. Requests are signed with the account's notification secret.")} fault=${failure?.fields.find(isOf(form, "webhook"))?.message}>${(ids) => html`<textarea ...${ids} rows="3" spellcheck=${false} value=${form.urls} onInput=${(event) => set("urls")(event.currentTarget.value)}></textarea>`}</${Field}>
      <${Services} form=${form} onForm=${onForm} fault=${failure?.fields.find(isOf(form, "apprise"))?.message} />
      <p class="hint wide">${t("Webhooks subscribed to alert.triggered are notified too.")} ${seesWebhooks && html`<${Link} href="/webhooks">${t("Manage webhooks")}</${Link}>`}</p>
    </div>
      <${Check} label=${t("Enabled")} checked=${form.enabled} onValue=${set("enabled")} />
    </section>`;
}

/** Runs a test on past recognitions, in as many requests as it needs. @param {any} body @param {number} days @param {(sum: any) => void} onPart */
async function runTrial(body, days, onPart) {
  const to = new Date().toISOString();
  let from = new Date(Date.now() - days * DAY_MS).toISOString();
  const sum = { evaluated: 0, matched: 0, fired: 0, triggers: /** @type {any[]} */ ([]), isComplete: false };
  for (let count = 0; count < CALLS; count++) {
    const part = await call("POST", "/api/alertas/test", { body: { alert: body, from, to } });
    sum.evaluated += part.evaluated;
    sum.matched += part.matched;
    sum.fired += part.fired;
    sum.triggers.push(...part.triggers);
    sum.isComplete = part.isComplete;
    onPart({ ...sum });
    if (part.isComplete || part.until === from) break;
    from = part.until;
  }
}

/** The test of the form's alert on past recognitions. */
export function Trial({ form }) {
  const [days, setDays] = useState("30");
  const [result, setResult] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run } = useAction();
  const start = () => run(() => runTrial({ ...bodyOf(form), name: form.name || "-", notifications: [] }, Number(days), setResult));
  return html`<section class="panel"><h2>${t("Test on past recognitions")}</h2>
    <p class="note">${t("Nothing is saved or sent. Assumes the alert has not triggered before.")}</p>
    <div class="actions">
      <${SelectField} label=${t("Time range")} value=${days} onValue=${setDays} options=${[["1", t("Last 24 hours")], ["7", t("Last 7 days")], ["30", t("Last 30 days")]]} />
      <button type="button" disabled=${isBusy} onClick=${start}>${isBusy ? t("Testing…") : t("Run test")}</button>
    </div>
    <${FormFault} failure=${failure} />
    <div role="status">${result && html`<p class="trial"><strong>${tn(result.fired, "Would have triggered {n} time.", "Would have triggered {n} times.")}</strong>${" "}
      ${t("{evaluated} recognitions checked, {matched} matched, {held} suppressed by cooldown.", { evaluated: number(result.evaluated), matched: number(result.matched), held: number(result.matched - result.fired) })}
      ${!result.isComplete && !isBusy && t("Stopped before checking everything. Choose a shorter time range.")}</p>`}</div>
    ${result?.triggers.length > 0 && html`<${Table} caption=${t("Recognitions that would have triggered it")} columns=${[t("Plate"), t("Time"), t("Camera"), { text: t("Confidence"), kind: "number" }]}>
      ${result.triggers.slice(0, 50).map((one) => html`<tr key=${one.recognitionId}><td><${Link} href=${`/recognitions/${one.recognitionId}`} target="_blank"><${Plate} text=${one.plate} /></${Link}></td><td>${dateTime(one.timestamp)}</td><td><bdi>${cameraName(one)}</bdi></td><td class="number"><${Confidence} value=${one.confidence} /></td></tr>`)}
    </${Table}>`}
  </section>`;
}
