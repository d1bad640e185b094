/** @file The form of an alert. */

import { html } from "./html.js";
import { NotificationRows, notificationsOf, rowsOf } from "./notifications.js";
import { PlateListField, plateListOf, textOfPlates } from "./plate-list.js";
import { Link } from "./router.js";
import { ScheduleFields } from "./schedule.js";
import { useMay } from "./session.js";
import { Advanced, Check, Field, SelectField, TextField } from "./ui.js";
import { t } from "./words.js";

const ADVANCED = ["minConfidence", "matchTolerance", "description"];
export const ALERT_FIELDS = ["name", "plates", "plateNames", "cameraIds", "notifications", "schedule", "timezone", "cooldownMinutes", ...ADVANCED];

/** @param {any} alert as returned by the API; null: a new alert @param {{plate?: string, timezone?: string}} [given] */
export function formOf(alert, given = {}) {
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
    // In a new alert, the match mode decides until a person selects a scope.
    cooldownScope: alert?.cooldownScope ?? "",
    notifications: rowsOf(alert?.notifications ?? []),
  };
}

/** In an alert for listed plates, one plate does not suppress another. */
const cooldownScopeOf = (form) => form.cooldownScope || (form.plateMatchMode === "specific" ? "plate" : "alert");

/** Returns the request body of a form. */
export function bodyOf(form) {
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
    notifications: notificationsOf(form.notifications),
  };
}

function CamerasChoice({ form, onForm, cameras, fault }) {
  const toggle = (id) => (isOn) => onForm({ ...form, cameraIds: isOn ? [...form.cameraIds, id] : form.cameraIds.filter((each) => each !== id) });
  return html`<section class="panel"><h2>${t("Cameras")}</h2>
    <div class="fields"><div class="field"><select aria-label=${t("Cameras")} value=${form.cameraScope} onChange=${(event) => onForm({ ...form, cameraScope: event.currentTarget.value })}>
      <option value="all" selected=${form.cameraScope === "all"}>${t("All cameras and Image API")}</option><option value="specific" selected=${form.cameraScope === "specific"}>${t("Selected cameras")}</option></select></div></div>
    ${form.cameraScope === "specific" && html`<div class="choices">${(cameras ?? []).map((camera) => html`<${Check} key=${camera.id} label=${html`<bdi>${camera.name}</bdi>`} checked=${form.cameraIds.includes(camera.id)} onValue=${toggle(camera.id)} />`)}</div>`}
    ${form.cameraScope === "specific" && !form.cameraIds.length && html`<p class="hint">${t("No camera selected, so this alert never triggers.")}</p>`}
    ${fault && html`<p class="fault">${fault}</p>`}
  </section>`;
}

/** Returns the error of an entry in the plate list, with the entry. */
function plateFault(form, failure) {
  const found = failure?.fields.find((field) => /^plates\.\d+/.test(field.path));
  const plate = found && bodyOf(form).plates[Number(found.path.split(".")[1])];
  return plate && `${plate}: ${found.message}`;
}

/** @param {any} props `alertId`: of a stored alert, whose notifications can be tested; `onSent` is called after a test */
export function AlertFields({ form, onForm, failure, cameras, accountZone, sendsEmail, alertId, onSent }) {
  const seesWebhooks = useMay("webhooks:read");
  const mayChange = useMay("alerts:write");
  const set = (name) => (value) => onForm({ ...form, [name]: value });
  const fault = (name) => failure?.fault(name);
  return html`<section class="panel alert-name">
      <${TextField} label=${t("Name")} required maxlength="200" value=${form.name} onValue=${set("name")} fault=${fault("name")} />
      <${Check} label=${t("Enabled")} checked=${form.enabled} onValue=${set("enabled")} />
    </section>
    <section class="panel"><h2>${t("Plates")}</h2><div class="fields">
      <${SelectField} label=${t("Trigger on")} value=${form.plateMatchMode} onValue=${set("plateMatchMode")} options=${[["specific", t("Listed plates")], ["allowlist", t("Any plate not on the list")], ["any", t("Any plate")]]} />
      ${form.plateMatchMode !== "any" && html`<${PlateListField} text=${form.plates} onText=${set("plates")} fault=${plateFault(form, failure) ?? fault("plates") ?? fault("plateNames")} />`}
      ${form.plateMatchMode === "specific" && !plateListOf(form.plates).plates.length && html`<p class="warning wide" role="status">${t("No plate listed, so this alert never triggers.")}</p>`}
    </div></section>
    <${CamerasChoice} form=${form} onForm=${onForm} cameras=${cameras} fault=${fault("cameraIds")} />
    <section class="panel"><h2>${t("Notifications")}</h2>
      <${NotificationRows} rows=${form.notifications} onRows=${set("notifications")} failure=${failure} alertId=${alertId} sendsEmail=${sendsEmail} mayChange=${mayChange} onSent=${onSent} />
      <p class="hint">${t("Webhooks subscribed to alert.triggered are notified too.")} ${seesWebhooks && html`<${Link} href="/webhooks">${t("Manage webhooks")}</${Link}>`}</p>
    </section>
    <section class="panel"><h2>${t("Schedule and cooldown")}</h2>
      <${ScheduleFields} form=${form} onForm=${onForm} failure=${failure} accountZone=${accountZone} />
      <div class="fields">
        <${Field} label=${t("Cooldown (minutes)")} fault=${fault("cooldownMinutes")} hint=${t("Minimum time between triggers. 0 turns it off.")}>${(ids) => html`<input ...${ids} type="number" min="0" max="527040" step="any" required value=${form.cooldownMinutes} onInput=${(event) => set("cooldownMinutes")(event.currentTarget.value)} />`}</${Field}>
        <${SelectField} label=${t("Cooldown applies to")} value=${cooldownScopeOf(form)} onValue=${set("cooldownScope")} options=${[["alert", t("Whole alert")], ["plate", t("Each plate")], ["plate_camera", t("Each plate at each camera")]]} />
      </div>
    </section>
    <section class="panel"><${Advanced} isOpen=${ADVANCED.some(fault)}><div class="fields">
      <${Field} label=${t("Minimum confidence (%)")} fault=${fault("minConfidence")}>${(ids) => html`<input ...${ids} type="number" min="0" max="100" step="1" required value=${form.minConfidence} onInput=${(event) => set("minConfidence")(event.currentTarget.value)} />`}</${Field}>
      <${SelectField} label=${t("Misread tolerance")} value=${form.matchTolerance} onValue=${set("matchTolerance")} options=${[["0", t("None")], ["1", t("1 character or look-alike")], ["2", t("2 characters or look-alikes")]]} disabled=${form.plateMatchMode === "any"} />
      <${TextField} label=${t("Description")} maxlength="2000" value=${form.description} onValue=${set("description")} fault=${fault("description")} hint=${t("Included in alert emails")} />
      <div class="wide"><${Check} label=${t("Trigger early, before the vehicle has left")} checked=${form.early} onValue=${set("early")}
        hint=${t("Triggers as soon as two readings agree, often seconds sooner. Once the vehicle has left, a second event confirms or corrects it, so receivers must be able to undo what they did. Email, push, chat and SMS always wait until then.")} /></div>
    </div></${Advanced}></section>`;
}
