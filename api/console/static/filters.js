/** @file The filters of lists: plate, match mode, camera, confidence, time range. */

import { html, useEffect, useMemo, useState } from "./html.js";
import { get } from "./api.js";
import { TIME_ZONE, fromLocalInput, number, toLocalInput } from "./format.js";
import { useLoad } from "./load.js";
import { go, goQuery, place } from "./router.js";
import { Field, Menu, SelectField, TextField } from "./ui.js";
import { t, tn } from "./words.js";

const HOUR_MS = 3_600_000;
const CUSTOM = "custom";
/** The names in a page's query that do not filter. */
const UNFILTERED = ["view", "page", "lastKey"];

/** The time ranges, in hours. @type {[string, () => string][]} */
const RANGES = [
  ["", () => t("Any time")],
  ["1", () => t("Last hour")],
  ["today", () => t("Today")],
  ["24", () => t("Last 24 hours")],
  ["168", () => t("Last 7 days")],
  ["720", () => t("Last 30 days")],
  [CUSTOM, () => t("Custom range")],
];

/** @type {[string, () => string][]} */
export const MODES = [
  ["", () => t("Contains")],
  ["exact", () => t("Exact")],
  ["prefix", () => t("Starts with")],
  ["wildcard", () => t("Wildcard (* and ?)")],
  ["fuzzy", () => t("Similar (1 character off)")],
];

/** @typedef {import("#api").components["schemas"]["CameraBody"]} Camera */

/** The account's cameras. @returns {ReturnType<typeof useLoad<Camera[]>>} */
export function useCameras(options) {
  return useLoad((abort) => get("/api/cameras", {}, abort).then((answer) => answer.cameras), ["cameras"], options);
}

/** Returns the API query of a page's state. @param {Record<string, string>} query */
export function filterOf(query) {
  const { plate = "", match = "", cameraId = "", minConfidence = "" } = query;
  return { plate, match: plate ? match : "", cameraId, minConfidence };
}

/** @param {string} range */
function startOf(range) {
  if (range === "today") return new Date(new Date().setHours(0, 0, 0, 0)).toISOString();
  const hours = Number(range);
  return hours > 0 ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - hours * HOUR_MS).toISOString() : "";
}

/**
 * Returns the start and end of a page's time range. The start stays the same while the page is shown.
 * @param {Record<string, string>} query
 */
export function useRange({ range = "", from = "", to = "" }) {
  const start = useMemo(() => startOf(range), [range]);
  return { from: from || start, to };
}

/** Returns the query that leads to the first page of a list. @param {Record<string, string>} query */
export const firstPage = ({ range = CUSTOM }) => ({ lastKey: "", page: "", ...(range !== CUSTOM && { from: "" }) });

const CLOCK = /^([01]?\d|2[0-3]):[0-5]\d$/;

/** A date and a time of 24 hours, which browsers' own inputs show in 12 hours in some languages. */
function MomentField({ label, value, onValue }) {
  const [day = "", clock = ""] = toLocalInput(value).split("T");
  const set = (newDay, newClock) => onValue(newDay ? fromLocalInput(`${newDay}T${CLOCK.test(newClock) ? newClock.padStart(5, "0") : "00:00"}`) : "");
  return html`<${Field} label=${label}>${(ids) => html`<span class="moment"><input ...${ids} type="date" value=${day} onChange=${(event) => set(event.currentTarget.value, clock)} />
    <input type="text" aria-label=${`${label}: ${t("Time")}`} placeholder="00:00" maxlength="5" disabled=${!day} value=${clock} onChange=${(event) => set(day, event.currentTarget.value.trim())} /></span>`}</${Field}>`;
}

/** The time range of a list: a preset, or two times. */
export function RangeField({ query }) {
  const { from, to } = useRange(query);
  const shown = query.range || (query.from || query.to ? CUSTOM : "");
  const set = (change) => goQuery({ ...firstPage(query), ...change }, { replace: true });
  return html`<${SelectField} label=${t("Time range")} value=${shown} onValue=${(range) => set(range === CUSTOM ? { range, from } : { range, from: "", to: "" })} options=${RANGES.map(([range, text]) => [range, text()])} />
    ${shown === CUSTOM && html`<${MomentField} label=${t("From ({zone})", { zone: TIME_ZONE })} value=${query.from} onValue=${(value) => set({ from: value })} />
      <${MomentField} label=${t("To ({zone})", { zone: TIME_ZONE })} value=${to} onValue=${(value) => set({ to: value })} />`}`;
}

/** A text filter, applied on Enter or when the field is left. */
export function SearchField({ label, query, name, ...rest }) {
  return html`<${Field} label=${label}>${(ids) => html`<input ...${ids} type="search" autocomplete="off" spellcheck=${false} value=${query[name] ?? ""} ...${rest}
    onChange=${(event) => goQuery({ ...firstPage(query), [name]: event.currentTarget.value.trim() }, { replace: true })} />`}</${Field}>`;
}

/** The button that clears the filters of a page, if any filter is set. */
export function ClearFilters({ query }) {
  if (!Object.keys(query).some((name) => !UNFILTERED.includes(name))) return null;
  return html`<div class="field end"><button type="button" onClick=${() => go(place.value.path + (query.view ? `?view=${query.view}` : ""))}>${t("Clear filters")}</button></div>`;
}

/**
 * The number of results, and the range of rows on the page.
 * @param {{query: Record<string, string>, rows: number, size: number, isLast: boolean}} props
 */
export function Count({ query, rows, size, isLast }) {
  const before = (Math.max(1, Number(query.page) || 1) - 1) * size;
  const known = number(before + rows);
  const all = isLast ? tn(before + rows, "{n} result", "{n} results") : t("{n} or more results", { n: known });
  const text = before ? t("{from}–{to} of {all}", { from: number(before + 1), to: known, all }) : all;
  return html`<p class="note count-line" role="status">${text} · ${t("Times in {zone}", { zone: TIME_ZONE })}</p>`;
}

/** The filters by plate, match mode, camera and confidence. Typing updates the page's state after a short delay. */
export function FilterFields({ query, cameras, isCompact = false }) {
  const [plate, setPlate] = useState(query.plate ?? "");
  useEffect(() => setPlate(query.plate ?? ""), [query.plate]);
  useEffect(() => {
    if (plate === (query.plate ?? "")) return undefined;
    const timer = setTimeout(() => goQuery({ ...firstPage(query), plate }, { replace: true }), 350);
    return () => clearTimeout(timer);
  }, [plate]);
  const set = (name) => (value) => goQuery({ ...firstPage(query), [name]: value }, { replace: true });
  const known = (cameras ?? []).map((camera) => [camera.id, camera.name]);
  const isUnknown = query.cameraId && !known.some(([id]) => id === query.cameraId);
  const minimum = Math.round(Number(query.minConfidence ?? 0) * 100);
  const others = html`<${SelectField} label=${t("Match mode")} value=${query.match ?? ""} onValue=${set("match")} options=${MODES.map(([mode, text]) => [mode, text()])} />
    <${SelectField} label=${t("Camera")} value=${query.cameraId ?? ""} onValue=${set("cameraId")}
      options=${[["", t("All cameras")], ...known, ...(isUnknown ? [[query.cameraId, t("Unknown camera")]] : [])]} />
    <${SelectField} label=${t("Minimum confidence")} value=${String(minimum)} onValue=${(value) => set("minConfidence")(value === "0" ? "" : String(Number(value) / 100))}
      options=${[...new Set([0, 50, 70, 80, 90, 95, minimum])].sort((a, b) => a - b).map((one) => [String(one), one ? t("{n}%", { n: one }) : t("Any")])} />`;
  const used = ["match", "cameraId", "minConfidence"].filter((name) => query[name]).length;
  return html`<${TextField} label=${t("Plate")} type="search" name="plate" maxlength="64" autocomplete="off" spellcheck=${false} value=${plate} onValue=${setPlate} />
    ${isCompact ? html`<div class="field end"><${Menu} label=${used ? t("Filters ({n})", { n: used }) : t("Filters")}>${others}</${Menu}></div>` : others}`;
}
