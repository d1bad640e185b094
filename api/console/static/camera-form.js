/** @file The form of a camera. */

import { html, useState } from "./html.js";
import { StreamTestButton, StreamTestResult } from "./stream-test.js";
import { Advanced, Check, Field, Segments, SelectField, TextField } from "./ui.js";
import { TimeZoneField } from "./time-zones.js";
import { t } from "./words.js";

const ADVANCED = ["location", "sampleFps", "timezone", "identifier"];
export const CAMERA_FIELDS = ["name", "rtspUrl", ...ADVANCED, "enabled", "minPlateWidth", "zones"];

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

const SCHEMES = ["rtsp", "rtsps", "http", "https"].map((scheme) => [scheme, `${scheme}://`]);

/** Returns a text for the part of a URL before its host. Asterisks would mean the saved password. @param {string} text */
const encoded = (text) => encodeURIComponent(text).replaceAll("*", "%2A");

/** Returns the stream URL of separate fields. @param {{scheme: string, host: string, path: string, user: string, password: string}} parts */
export function streamUrlOf({ scheme, host, path, user, password }) {
  const login = user || password ? `${encoded(user)}${password && `:${encoded(password)}`}@` : "";
  return host.trim() && `${scheme}://${login}${host.trim()}/${path.trim().replace(/^\//, "")}`;
}

const URL_PARTS = /^(?:(?<scheme>rtsps?|https?):\/\/|(?!\w+:\/\/))(?:(?<user>[^:@/]*)(?::(?<password>[^/]*))?@)?(?<host>[^/]*)\/?(?<path>.*)$/;

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the separate fields of a stream URL. They are empty for another scheme. @param {string} url */
export function partsOf(url) {
  const { scheme = "rtsp", user = "", password = "", host = "", path = "" } = URL_PARTS.exec(url.trim())?.groups ?? {};
  return { scheme, host, path, user: decoded(user), password: decoded(password) };
}

/** The address of a new camera in separate fields. */
function AddressParts({ parts, onParts, fault, children }) {
  const set = (name) => (value) => onParts({ ...parts, [name]: value });
  const text = { spellcheck: false, autocomplete: "off" };
  return html`<div class="fields wide">
    <${SelectField} label=${t("Protocol")} value=${parts.scheme} onValue=${set("scheme")} options=${SCHEMES} />
    <${TextField} ...${text} label=${t("Host and port")} required placeholder="192.168.1.20:554" value=${parts.host} onValue=${set("host")} fault=${fault} />
    <${TextField} ...${text} label=${t("Path")} placeholder="stream1" value=${parts.path} onValue=${set("path")} hint=${t("As in the camera's manual")} />
    <${TextField} ...${text} label=${t("Camera username")} value=${parts.user} onValue=${set("user")} />
    <${TextField} label=${t("Camera password")} type="password" autocomplete="new-password" value=${parts.password} onValue=${set("password")} />
    <div class="field end">${children}</div>
  </div>`;
}

/** The stream's URL with its test. */
function Address({ form, onUrl, fault, test, cameraId }) {
  const button = html`<${StreamTestButton} test=${test} url=${form.rtspUrl} cameraId=${cameraId} />`;
  const [parts, setParts] = useState(partsOf(""));
  const [isSplit, setSplit] = useState(false);
  const choose = (kind) => {
    setSplit(kind === "parts");
    if (kind === "parts" && form.rtspUrl) setParts(partsOf(form.rtspUrl));
  };
  const change = (next) => {
    setParts(next);
    onUrl(streamUrlOf(next));
  };
  return html`${!cameraId && html`<div class="wide"><${Segments} label=${t("Camera address")} value=${isSplit ? "parts" : "url"} onValue=${choose} options=${[["url", t("Stream URL")], ["parts", t("Host and password")]]} /></div>`}
    ${isSplit ? html`<${AddressParts} parts=${parts} onParts=${change} fault=${fault}>${button}</${AddressParts}>`
    : html`<div class="wide with-button"><${TextField} label=${t("Stream URL")} required inputmode="url" spellcheck=${false} autocomplete="off" placeholder="rtsp://user:password@192.168.1.20:554/stream1"
        value=${form.rtspUrl} onValue=${onUrl} fault=${fault}
        hint=${form.rtspUrl.includes("***") ? t("*** is the saved password. If you change the host, port or user, enter the password again.") : !cameraId && t("RTSP, RTSPS, HTTP or HTTPS; file too, if the server has a folder for camera files. Percent-encode special characters in the password, or enter host and password separately.")} />${button}</div>`}
    <div class="wide"><${StreamTestResult} test=${test} shown=${["rtspUrl"]} /></div>`;
}

/** The fields of a camera, with the test of its stream. A new camera is always enabled. @param {any} props */
export function CameraFields({ form, onForm, failure, test, cameraId }) {
  const set = (name) => (value) => onForm({ ...form, [name]: value });
  const fault = (name) => failure?.fault(name);
  const setUrl = (rtspUrl) => {
    test.reset();
    set("rtspUrl")(rtspUrl);
  };
  return html`<div class="fields">
    <${TextField} wide label=${t("Name")} required maxlength="200" value=${form.name} onValue=${set("name")} fault=${fault("name")} />
    <${Address} form=${form} onUrl=${setUrl} fault=${fault("rtspUrl") ?? test.failure?.fault("rtspUrl")} test=${test} cameraId=${cameraId} />
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
