/** @file The form of a camera. */

import { html } from "./html.js";
import { Check, Field, TextField } from "./ui.js";
import { TimeZoneField } from "./time-zones.js";
import { t } from "./words.js";

export const CAMERA_FIELDS = ["name", "rtspUrl", "location", "identifier", "sampleFps", "timezone", "enabled", "minPlateWidth", "zones"];

/** @param {any} camera as returned by the API */
export function formOf(camera) {
  return {
    name: camera?.name ?? "",
    rtspUrl: camera?.rtspUrl ?? "",
    location: camera?.location ?? "",
    identifier: camera?.identifier ?? "",
    sampleFps: camera?.sampleFps ? String(camera.sampleFps) : "",
    timezone: camera?.timezone ?? "",
    enabled: camera?.enabled ?? true,
  };
}

/** Returns the request body of a form. An identifier that was derived from the URL is sent unchanged. */
export function bodyOf(form) {
  return {
    name: form.name,
    rtspUrl: form.rtspUrl.trim(),
    location: form.location,
    identifier: form.identifier.trim() || null,
    sampleFps: form.sampleFps === "" ? null : Number(form.sampleFps),
    timezone: form.timezone || null,
    enabled: form.enabled,
  };
}

export function CameraFields({ form, onForm, failure, isNew = false }) {
  const set = (name) => (value) => onForm({ ...form, [name]: value });
  const fault = (name) => failure?.fault(name);
  return html`<div class="fields">
    <${TextField} label=${t("Name")} required maxlength="200" value=${form.name} onValue=${set("name")} fault=${fault("name")} />
    <${TextField} label=${t("Location")} maxlength="500" value=${form.location} onValue=${set("location")} fault=${fault("location")} />
    <${TextField} wide label=${t("Stream URL")} required inputmode="url" spellcheck=${false} autocomplete="off" placeholder="rtsp://user:password@192.168.1.20:554/stream1"
      value=${form.rtspUrl} onValue=${set("rtspUrl")} fault=${fault("rtspUrl")}
      hint=${isNew ? t("RTSP, RTSPS, HTTP or HTTPS. Percent-encode special characters in the password.") : t("*** is the saved password. If you change the host, port or user, enter the password again.")} />
    <${Field} label=${t("Sampling rate (fps)")} fault=${fault("sampleFps")} hint=${t("Leave empty for the server default. Increase it for fast traffic.")}>
      ${(ids) => html`<input ...${ids} type="number" min="0.1" max="60" step="0.1" value=${form.sampleFps} onInput=${(event) => set("sampleFps")(event.currentTarget.value)} />`}
    </${Field}>
    <${TimeZoneField} label=${t("Time zone")} value=${form.timezone} onValue=${set("timezone")} fault=${fault("timezone")} hint=${t("For your reference. Alerts use their own time zone.")} />
    <${TextField} label=${t("Identifier")} maxlength="200" value=${form.identifier} onValue=${set("identifier")} fault=${fault("identifier")} hint=${t("For API clients. Leave empty to derive it from the stream URL.")} />
    <${Check} label=${t("Enabled")} checked=${form.enabled} onValue=${set("enabled")} hint=${t("While disabled, no video is read and no plates are recognised.")} />
  </div>`;
}
