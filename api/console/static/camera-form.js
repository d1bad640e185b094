/** @file The form of a camera. */

import { html } from "./html.js";
import { StreamTestButton, StreamTestResult } from "./stream-test.js";
import { Advanced, Check, Field, TextField } from "./ui.js";
import { TimeZoneField } from "./time-zones.js";
import { t } from "./words.js";

const ADVANCED = ["location", "sampleFps", "timezone", "identifier"];
export const STREAM_FIELDS = ["rtspUrl", "username", "password"];
export const CAMERA_FIELDS = ["name", ...STREAM_FIELDS, ...ADVANCED, "enabled", "minPlateWidth", "zones"];

/** @param {any} camera as returned by the API */
export function formOf(camera) {
  return {
    name: camera?.name ?? "",
    rtspUrl: camera?.rtspUrl ?? "",
    username: "",
    password: "",
    location: camera?.location ?? "",
    identifier: camera?.identifier ?? "",
    sampleFps: camera?.sampleFps ? String(camera.sampleFps) : "",
    timezone: camera?.timezone ?? "",
    enabled: camera?.enabled ?? true,
  };
}

/** Returns the stream of a form, as in requests. An empty user name or password leaves the URL's unchanged. */
const streamOf = ({ rtspUrl, username, password }) => ({ rtspUrl, username, password });

/** Returns the request body of a form. An identifier that was derived from the URL is sent unchanged. */
export function bodyOf(form) {
  return {
    name: form.name,
    ...streamOf(form),
    location: form.location,
    identifier: form.identifier.trim() || null,
    sampleFps: form.sampleFps === "" ? null : Number(form.sampleFps),
    timezone: form.timezone || null,
    enabled: form.enabled,
  };
}

/** The stream's URL, user name and password, with their test. */
function Address({ form, onStream, fault, test, cameraId }) {
  const isSaved = form.rtspUrl.includes("***");
  return html`<div class="wide with-button"><${TextField} label=${t("Stream URL")} required inputmode="url" spellcheck=${false} autocomplete="off" placeholder="rtsp://192.168.1.20:554/stream1"
      value=${form.rtspUrl} onValue=${onStream("rtspUrl")} fault=${fault("rtspUrl")}
      hint=${isSaved ? t("*** is the saved password. If you change the host, port or user, enter the password again.") : !cameraId && t("RTSP, RTSPS, HTTP or HTTPS; file too, if the server has a folder for camera files.")} />
      <${StreamTestButton} test=${test} body=${{ ...streamOf(form), cameraId }} /></div>
    <${TextField} label=${t("Camera username")} maxlength="100" spellcheck=${false} autocomplete="off" value=${form.username} onValue=${onStream("username")} fault=${fault("username")} />
    <${TextField} label=${t("Camera password")} maxlength="100" type="password" autocomplete="new-password" value=${form.password} onValue=${onStream("password")} fault=${fault("password")} hint=${isSaved && t("Leave empty to keep the saved password.")} />
    <div class="wide"><${StreamTestResult} test=${test} shown=${STREAM_FIELDS} /></div>`;
}

/** The fields of a camera, with the test of its stream. A new camera is always enabled. @param {any} props */
export function CameraFields({ form, onForm, failure, test, cameraId }) {
  const set = (name) => (value) => onForm({ ...form, [name]: value });
  const fault = (name) => failure?.fault(name);
  const setStream = (name) => (value) => {
    test.reset();
    set(name)(value);
  };
  return html`<div class="fields">
    <${TextField} wide label=${t("Name")} required maxlength="200" value=${form.name} onValue=${set("name")} fault=${fault("name")} />
    <${Address} form=${form} onStream=${setStream} fault=${(name) => fault(name) ?? test.failure?.fault(name)} test=${test} cameraId=${cameraId} />
    ${cameraId && html`<div class="wide"><${Check} label=${t("Enabled")} checked=${form.enabled} onValue=${set("enabled")} hint=${t("While disabled, no video is read and no plates are recognised.")} /></div>`}
    <${Advanced} isOpen=${ADVANCED.some(fault)}><div class="fields">
      <${TextField} label=${t("Location")} maxlength="500" value=${form.location} onValue=${set("location")} fault=${fault("location")} />
      <${Field} label=${t("Sampling rate (fps)")} fault=${fault("sampleFps")} hint=${t("Leave empty for the server default. Increase it for fast traffic.")}>
        ${(ids) => html`<input ...${ids} type="number" min="0.1" max="60" step="0.1" value=${form.sampleFps} onInput=${(event) => set("sampleFps")(event.currentTarget.value)} />`}
      </${Field}>
      <${TimeZoneField} label=${t("Time zone")} value=${form.timezone} onValue=${set("timezone")} fault=${fault("timezone")} hint=${t("For your reference. Alerts use their own time zone.")} />
      <${TextField} label=${t("Identifier")} maxlength="200" value=${form.identifier} onValue=${set("identifier")} fault=${fault("identifier")} hint=${t("For API clients. Leave empty to derive it from the stream URL.")} />
    </div></${Advanced}>
  </div>`;
}
