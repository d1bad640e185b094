/** @file New recognitions, the alerts they trigger, and the cameras' snapshots. */

import { html, useCallback, useEffect, useRef, useState } from "../html.js";
import { get, hasBudget } from "../api.js";
import { ClearFilters, FilterFields, filterOf, useCameras } from "../filters.js";
import { cameraName, dayName, number, time } from "../format.js";
import { useEvery, useLoad } from "../load.js";
import { Crop } from "../images.js";
import { Link, go } from "../router.js";
import { useMay } from "../session.js";
import { useKeys } from "../shortcuts.js";
import { sound } from "../settings.js";
import { useSignal } from "../signal.js";
import { useStream } from "../stream.js";
import { Badge, Empty, Fault, Head, Moment, Plate, Region, Confidence, Waiting } from "../ui.js";
import { Wall } from "../wall.js";
import { t } from "../words.js";

const SHOWN = 100;
const ALERT_SECONDS = 5;
const MAX_REQUESTS = 10;

/** Cameras that work come first. */
const ORDER = ["online", "connecting", "offline", "disabled"];

/** @type {AudioContext | undefined} */
let audio;

/** Plays two short tones. */
function ring() {
  audio ??= new AudioContext();
  for (const [at, pitch] of [[0, 880], [0.18, 1175]]) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.2, audio.currentTime + at);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + at + 0.16);
    tone.connect(volume).connect(audio.destination);
    tone.start(audio.currentTime + at);
    tone.stop(audio.currentTime + at + 0.16);
  }
}

/**
 * Returns the names of triggered alerts by recognition. The names are requested when an alert's count grows.
 * @param {{id: string, timestamp: string}[]} rows newest first
 */
function useTriggeredAlerts(rows) {
  const [triggered, setTriggered] = useState(/** @type {Record<string, string[]>} */ ({}));
  const asked = useRef(new Set());
  const counts = useRef(/** @type {Map<string, number> | null} */ (null));
  const shown = useRef(rows);
  shown.current = rows;
  const since = useRef("");

  const explain = async (row) => {
    asked.current.add(row.id);
    const { alerts } = await get(`/api/recognitions/${row.id}/alerts`);
    const names = alerts.filter((one) => one.outcome === "fired").map((one) => one.alertName);
    if (!names.length) return false;
    setTriggered((before) => ({ ...before, [row.id]: names }));
    return true;
  };
  const check = async () => {
    if (document.hidden || !hasBudget("calls")) return;
    const { alerts } = await get("/api/alertas");
    const before = counts.current;
    counts.current = new Map(alerts.map((alert) => [alert.id, alert.triggerCount]));
    const grown = alerts.filter((alert) => alert.triggerCount > (before?.get(alert.id) ?? (before ? 0 : Infinity)));
    if (!grown.length) return;
    const newest = grown.map((alert) => alert.lastTriggeredAt ?? "").sort().at(-1) ?? "";
    const candidates = shown.current.filter((row) => row.timestamp > since.current && row.timestamp <= newest && !asked.current.has(row.id));
    since.current = shown.current.at(20)?.timestamp ?? since.current;
    let hasTriggered = false;
    for (const row of candidates.slice(0, MAX_REQUESTS)) if (hasBudget("calls") && (await explain(row))) hasTriggered = true;
    if (hasTriggered && sound.value === "on") ring();
  };
  useEvery(() => void check().catch(() => {}), ALERT_SECONDS);
  useEffect(() => void check().catch(() => {}), []);
  return triggered;
}

/** The button that turns the sound on and off. */
function Bell() {
  const isOn = useSignal(sound) === "on";
  const toggle = () => {
    sound.value = isOn ? "off" : "on";
    if (!isOn) ring();
  };
  return html`<button type="button" class="icon-button" aria-pressed=${isOn ? "true" : "false"} title=${t("Play sound on alert")} aria-label=${t("Play sound on alert")} onClick=${toggle}>
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${`M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4${isOn ? "" : "M4 3l17 18"}`} /></svg>
  </button>`;
}

function Pass({ row, triggered }) {
  return html`<li class=${triggered ? "pass triggered" : "pass"}>
    <${Link} href=${`/recognitions/${row.id}`}>
      <${Crop} recognition=${row} />
      <span class="pass-plate"><${Plate} text=${row.plate} /><${Region} region=${row.region} /></span>
      <span class="pass-camera"><bdi>${cameraName(row)}</bdi></span>
      <span class="pass-confidence"><${Confidence} value=${row.confidence} /></span>
      <span class="pass-time"><${Moment} at=${row.timestamp} format=${time} /></span>
      ${triggered && html`<span class="pass-alerts">${triggered.map((name) => html`<${Badge} key=${name} kind="bad"><bdi>${name}</bdi></${Badge}>`)}</span>`}
    </${Link}>
  </li>`;
}

export function LivePage({ query }) {
  const filter = filterOf(query);
  const [rows, setRows] = useState(/** @type {any[]} */ ([]));
  const [buffered, setBuffered] = useState(/** @type {any[]} */ ([]));
  const [isPaused, setPaused] = useState(false);
  const mayAdd = useMay("cameras:write");
  const cameras = useCameras({ everySeconds: 10 });
  const first = useLoad((abort) => get("/api/recognitions", { ...filter, limit: 30 }, abort), [filter]);
  const paused = useRef(isPaused);
  paused.current = isPaused;

  const add = useCallback((fresh, before) => {
    const known = new Set(before.map((row) => row.id));
    return [...fresh.filter((row) => !known.has(row.id)), ...before].sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1)).slice(0, SHOWN);
  }, []);
  const state = useStream(filter, (fresh) => (paused.current ? setBuffered : setRows)((before) => add(fresh, before)));
  const isFiltered = Object.values(filter).some(Boolean);
  const of = JSON.stringify(filter);
  useEffect(() => {
    setRows([]);
    setBuffered([]);
  }, [of]);
  useEffect(() => {
    if (first.data) setRows((before) => add(before, first.data.recognitions));
  }, [first.data]);
  const triggered = useTriggeredAlerts(rows);

  const online = (cameras.data ?? []).filter((camera) => camera.status === "online").length;
  const toggle = () => {
    setPaused(!isPaused);
    if (!isPaused) return;
    setRows((before) => add(buffered, before));
    setBuffered([]);
  };
  useKeys({ " ": toggle });
  const states = {
    open: html`<${Badge} kind="good">${t("Connected")}</${Badge}>`,
    opening: html`<${Badge} kind="wait">${t("Connecting")}</${Badge}>`,
    reconnecting: html`<${Badge} kind="bad">${t("Reconnecting")}</${Badge}>`,
  };
  return html`<${Head} title=${t("Live")}>
      <span aria-live="polite">${states[state]}</span>
      <button type="button" aria-pressed=${isPaused ? "true" : "false"} onClick=${toggle}>${isPaused ? t("Resume ({n} new)", { n: number(buffered.length) }) : t("Pause")}</button>
      <${Bell} />
    </${Head}>
    <div class="filters"><${FilterFields} query=${query} cameras=${cameras.data} isCompact /><${ClearFilters} query=${query} /></div>
    <div class="live">
      <section aria-label=${t("Recognitions")}>
        <${Fault} failure=${rows.length ? null : first.failure} retry=${first.reload} />
        ${!rows.length && first.isLoading && html`<${Waiting} />`}
        ${!rows.length && first.data && isFiltered && html`<${Empty} title=${t("No recognitions match these filters")}><button type="button" onClick=${() => go("/")}>${t("Clear filters")}</button></${Empty}>`}
        ${!rows.length && first.data && !isFiltered && html`<${Empty} title=${t("No recognitions yet")}>${t("New recognitions appear here automatically. Check that at least one camera is online.")}</${Empty}>`}
        <ol class="passes">${rows.flatMap((row, at) => [
          dayName(row.timestamp) !== (rows[at - 1] ? dayName(rows[at - 1].timestamp) : t("Today")) && html`<li key=${dayName(row.timestamp)} class="day">${dayName(row.timestamp)}</li>`,
          html`<${Pass} key=${row.id} row=${row} triggered=${triggered[row.id]} />`,
        ])}</ol>
      </section>
      <section aria-label=${t("Cameras")}>
        <h2>${t("Cameras")} <span class="count">${cameras.data ? t("{n} of {all} online", { n: number(online), all: number(cameras.data.length) }) : ""}</span></h2>
        ${!cameras.data && html`<${Waiting} rows=${3} />`}
        ${cameras.data?.length === 0 && html`<${Empty} title=${t("No cameras yet")}>${mayAdd && html`<${Link} href="/cameras/new">${t("Add camera")}</${Link}>`}</${Empty}>`}
        ${cameras.data && html`<${Wall} cameras=${[...cameras.data].sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status))} />`}
      </section>
    </div>`;
}
