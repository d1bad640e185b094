/** @file A recognition: its images, confidence, alerts and deliveries. */

import { html, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { Correction, CorrectionButtons } from "../correction.js";
import { RecognitionDeliveries } from "../deliveries.js";
import { ErasePlate } from "../erasure.js";
import { triggerTiming } from "../triggers.js";
import { IMAGE_API, cameraName, dateTime, number, percent, regionName, time, weekdayTime } from "../format.js";
import { useLoad } from "../load.js";
import { useImage } from "../images.js";
import { Link } from "../router.js";
import { scheduleText } from "../schedule.js";
import { useMay } from "../session.js";
import { Badge, CopyButton, Empty, Fault, Head, Moment, Plate, Confidence, Table, Waiting } from "../ui.js";
import { t, tn } from "../words.js";

const ZOOMS = [1, 1.5, 2, 3, 4, 6];

const TYPES = { car: () => t("Single line"), "two-row": () => t("Two lines"), motorcycle: () => t("Motorcycle") };
const DIRECTIONS = { towards: () => t("Towards camera"), away: () => t("Away from camera"), left: () => t("Left"), right: () => t("Right") };

/** The reasons by unmet condition. @type {Record<string, (one: any) => string>} */
const CONDITIONS = {
  enabled: () => t("Alert is disabled"),
  plate: () => t("Plate doesn't match"),
  camera: () => t("Camera isn't included"),
  confidence: () => t("Confidence is too low"),
  schedule: ({ alert, localTime }) => (localTime ? t("Outside schedule: {time} ({zone}). Schedule: {schedule}", { time: localTime, zone: alert.timezone, schedule: scheduleText(alert) }) : t("Outside schedule")),
};

const OUTCOMES = {
  fired: ["bad", () => t("Triggered")],
  held_back: ["wait", () => t("Suppressed")],
  withdrawn: ["off", () => t("Withdrawn")],
  not_set_off: ["off", () => t("Not triggered")],
  not_then: ["info", () => t("Not evaluated")],
};

/** The outcomes of alerts whose conditions were met. */
const MATCHED = ["fired", "held_back", "withdrawn"];

/** The photo with a box around the plate. The buttons zoom in on the plate. */
function Photo({ recognition }) {
  const [zoom, setZoom] = useState(0);
  const [size, setSize] = useState(/** @type {{width: number, height: number} | null} */ (null));
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const url = useImage(recognition.photoUrl ? `/api/recognitions/${recognition.id}/photo` : null);
  const box = recognition.plateCoordinates;
  if (!recognition.photoUrl || url === null) return html`<${Empty} title=${t("No photo")}>${t("It has passed its retention period, or was never stored.")}</${Empty}>`;
  const scale = ZOOMS[zoom];
  const middle = box && size ? { x: (box.x + box.width / 2) / size.width, y: (box.y + box.height / 2) / size.height } : { x: 0.5, y: 0.5 };
  // Move the image so that the plate is in the centre.
  const shift = (/** @type {number} */ at) => `${Math.min(0, Math.max(1 - scale, 0.5 - at * scale)) * 100}%`;
  const style = size ? { width: `${scale * 100}%`, left: shift(middle.x), top: shift(middle.y) } : {};
  return html`<div class="photo-view">
    <div class="photo" ref=${frame} style=${size ? { aspectRatio: `${size.width} / ${size.height}` } : {}}>
      ${url && html`<div class="photo-moved" style=${style}>
        <img src=${url} alt=${t("Photo of the vehicle with plate {plate}", { plate: recognition.plate })}
          onLoad=${(event) => setSize({ width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight })} />
        ${box && size && html`<svg viewBox=${`0 0 ${size.width} ${size.height}`} aria-hidden="true"><rect class="box" x=${box.x - 4} y=${box.y - 4} width=${box.width + 8} height=${box.height + 8} rx="3" /></svg>`}
      </div>`}
    </div>
    <div class="photo-tools">
      <button type="button" aria-label=${t("Zoom out")} disabled=${zoom === 0} onClick=${() => setZoom(zoom - 1)}>−</button>
      <span>${percent(scale)}</span>
      <button type="button" aria-label=${t("Zoom in")} disabled=${zoom === ZOOMS.length - 1} onClick=${() => setZoom(zoom + 1)}>+</button>
      <button type="button" disabled=${!box} onClick=${() => setZoom(zoom === 4 ? 0 : 4)}>${zoom === 4 ? t("Full photo") : t("Zoom to plate")}</button>
      ${url && html`<a class="button" href=${url} download=${`${recognition.plate}-photo.jpg`}>${t("Download photo")}</a>`}
    </div>
  </div>`;
}

function CropView({ recognition }) {
  const url = useImage(recognition.cropUrl ? `/api/recognitions/${recognition.id}/crop` : null);
  if (!recognition.cropUrl) return null;
  return html`<div class="crop-large">
    ${url && html`<img src=${url} alt=${t("Plate {plate}", { plate: recognition.plate })} />`}
    ${url === null && html`<span class="crop-none">${t("No image")}</span>`}
  </div>`;
}

/** The characters of a plate with their confidence and alternatives. */
function Characters({ plate, confidences, alternatives }) {
  if (!confidences?.length) return null;
  const signs = [...plate];
  return html`<${Table} caption=${t("Confidence per character")} columns=${signs.map((sign) => ({ text: sign, kind: "sign" }))} kind="signs">
    <tr>${confidences.map((value, at) => html`<td key=${at} class="sign"><span class="bar-of" style=${{ height: `${Math.round(value * 100)}%` }}></span><${Confidence} value=${value} /></td>`)}</tr>
    ${alternatives?.length > 0 && html`<tr>${confidences.map((_, at) => html`<td key=${at} class="sign">${alternatives.filter((one) => one.position === at).map((one) => html`<div key=${one.character} class="note">${t("or {character}", { character: one.character })} <${Confidence} value=${one.confidence} /></div>`)}</td>`)}</tr>`}
  </${Table}>`;
}

function AlertOutcome({ one }) {
  const [kind, text] = OUTCOMES[one.outcome] ?? ["info", () => one.outcome];
  const why = {
    fired: () => `${t("All conditions were met")} · ${triggerTiming(one)}`,
    not_set_off: () => one.unmet.map((condition) => CONDITIONS[condition]?.(one) ?? condition).join(" · "),
    held_back: () => html`${t("Cooldown until {time}", { time: dateTime(one.cooldownUntil) })} · <${Link} href=${`/recognitions/${one.heldBackBy}`}>${t("View trigger")}</${Link}>`,
    withdrawn: () => t("Triggered early on a different reading of this vehicle, then withdrawn"),
    not_then: () => (one.isLater ? t("Alert was created later") : t("Would match now. The alert was changed later, or this recognition is still being processed.")),
  }[one.outcome];
  return html`<tr><td><${Link} href=${`/alerts/${one.alertId}`}><bdi>${one.alertName}</bdi></${Link}></td><td><${Badge} kind=${kind}>${text()}</${Badge}></td><td>${why?.()}${one.plateName && html` <span class="note">${t("listed as {name}", { name: one.plateName })}</span>`}</td></tr>`;
}

function AlertTable({ caption, alerts }) {
  return html`<${Table} caption=${caption} columns=${[t("Alert"), t("Result"), t("Reason")]}>${alerts.map((one) => html`<${AlertOutcome} key=${one.alertId} one=${one} />`)}</${Table}>`;
}

/** Returns the outcome of a recognition for each alert, with the alert. @param {any} recognition @param {AbortSignal} abort */
async function outcomesOf({ id, timestamp }, abort) {
  const [explained, stored] = await Promise.all([get(`/api/recognitions/${id}/alerts`, {}, abort), get("/api/alertas", {}, abort)]);
  return explained.alerts.map((one) => {
    const alert = stored.alerts.find((each) => each.id === one.alertId);
    const isLater = !MATCHED.includes(one.outcome) && Date.parse(alert?.createdAt) > Date.parse(timestamp);
    return { ...one, alert, isLater, localTime: alert && weekdayTime(timestamp, alert.timezone), outcome: isLater ? "not_then" : one.outcome };
  });
}

/** The alerts of a recognition: first the alerts that matched. All others are folded if an alert triggered. */
function Alerts({ found }) {
  const mayMake = useMay("alerts:write");
  const order = Object.keys(OUTCOMES);
  const alerts = [...(found.data ?? [])].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  const matched = alerts.filter((one) => MATCHED.includes(one.outcome));
  const others = alerts.slice(matched.length);
  return html`<section><h2>${t("Alerts")}</h2>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${3} />`}
    ${found.data && !alerts.length && html`<p class="note">${t("No alerts yet")} ${mayMake && html`<${Link} href="/alerts/new">${t("Create alert")}</${Link}>`}</p>`}
    ${matched.length > 0 && html`<${AlertTable} caption=${t("Alerts")} alerts=${matched} />`}
    ${!matched.length && others.length > 0 && html`<p class="note">${t("No alert triggered")}</p><${AlertTable} caption=${t("Alerts")} alerts=${others} />`}
    ${matched.length > 0 && others.length > 0 && html`<details open=${matched[0].outcome !== "fired"}><summary>${tn(others.length, "Show {n} other alert", "Show {n} other alerts")}</summary><${AlertTable} caption=${t("Other alerts")} alerts=${others} /></details>`}
  </section>`;
}

/** The alerts and deliveries of a recognition. */
function Outcomes({ recognition }) {
  const seesDeliveries = useMay("webhooks:read");
  const found = useLoad((abort) => outcomesOf(recognition, abort), [recognition.id]);
  return html`<${Alerts} found=${found} />${seesDeliveries && html`<${RecognitionDeliveries} id=${recognition.id} outcomes=${found.data} />`}`;
}

export function RecognitionPage({ id }) {
  const mayMakeAlerts = useMay("alerts:write");
  const found = useLoad((abort) => get(`/api/recognitions/${encodeURIComponent(id)}`, {}, abort).then((answer) => answer.recognition), [id]);
  const one = found.data;
  if (!one) {
    return html`<${Head} title=${t("Recognition")} />
      ${found.failure?.status === 404
        ? html`<${Empty} title=${t("Recognition not found")}>${t("It may have passed its retention period, been erased, or belong to another account. A new recognition takes a second or two to appear.")} <button type="button" onClick=${found.reload}>${t("Try again")}</button></${Empty}>`
        : html`<${Fault} failure=${found.failure} retry=${found.reload} />`}
      ${found.isLoading && !found.failure && html`<${Waiting} rows=${8} />`}`;
  }
  const history = `/search?plate=${encodeURIComponent(one.plate)}&match=exact&view=history`;
  const facts = [
    [t("Time"), html`<${Moment} at=${one.timestamp} />`],
    [t("Camera"), one.cameraId === IMAGE_API ? cameraName(one) : html`<${Link} href=${`/cameras/${one.cameraId}`}><bdi>${one.cameraName}</bdi></${Link}>`],
    [t("Confidence"), html`<${Confidence} value=${one.confidence} />`],
    one.region?.code && [t("Country or region"), `${regionName(one.region.code)}${one.region.confidence ? ` (${percent(one.region.confidence)})` : ""}`],
    one.plateType && [t("Plate type"), TYPES[one.plateType]?.() ?? one.plateType],
    one.firstSeenAt && one.lastSeenAt && [t("In view"), html`${t("{n} s", { n: number(Math.round((Date.parse(one.lastSeenAt) - Date.parse(one.firstSeenAt)) / 100) / 10) })}
      <span class="note"> (<${Moment} at=${one.firstSeenAt} format=${time} />–<${Moment} at=${one.lastSeenAt} format=${time} />)</span>`],
    one.readingsCount && [t("Readings"), number(one.readingsCount)],
    one.direction && [t("Direction"), DIRECTIONS[one.direction]?.() ?? one.direction],
    one.plateCoordinates && [t("Plate width"), t("{n} px", { n: Math.round(one.plateCoordinates.width) })],
  ].filter(Boolean);
  const correct = (correction) => found.change((before) => ({ ...before, correction }));
  return html`<${Head} title=${html`<${Plate} text=${one.plate} size="large" />`} note=${html`<bdi>${cameraName(one)}</bdi> · ${dateTime(one.timestamp)}`}
      aside=${html`<${CorrectionButtons} key=${one.id} recognition=${one} onChanged=${correct}><${CropView} recognition=${one} /></${CorrectionButtons}>`}>
      <${Link} class="button" href=${history}>${t("View history")}</${Link}>
      ${mayMakeAlerts && html`<${Link} class="button" href=${`/alerts/new?plate=${encodeURIComponent(one.plate)}`}>${t("Create alert")}</${Link}>`}
      <${CopyButton} text=${location.href} label=${t("Copy link")} />
    </${Head}>
    ${one.correction && html`<${Correction} correction=${one.correction} />`}
    <div class="recognition">
      <${Photo} recognition=${one} />
      <div class="panel">
        <${CropView} recognition=${one} />
        <dl class="pairs">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
        <${Characters} plate=${one.plate} confidences=${one.characterConfidences} alternatives=${one.characterAlternatives} />
      </div>
    </div>
    <${Outcomes} recognition=${one} />
    <${ErasePlate} plate=${one.plate} onErased=${found.reload} />`;
}
