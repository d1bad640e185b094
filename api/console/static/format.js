/** @file Dates and numbers in the browser's locale and time zone. */

import { locale, t } from "./words.js";

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {Intl.DateTimeFormatOptions} options */
function format(options) {
  const key = JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale(), options);
  formats.set(key, known);
  return known;
}

/** @param {string | null | undefined} moment ISO 8601 */
export function dateTime(moment) {
  if (!moment) return "–";
  return format({ dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" }).format(new Date(moment));
}

/** @param {string | null | undefined} moment */
export function shortDateTime(moment) {
  if (!moment) return "–";
  const options = /** @type {const} */ ({ day: "2-digit", month: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  return format(options).format(new Date(moment));
}

/** @param {string} moment */
export function time(moment) {
  return format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(new Date(moment));
}

/** Returns the weekday and time in a time zone, or "" if the browser does not know the zone. @param {string} moment @param {string} timeZone */
export function weekdayTime(moment, timeZone) {
  try {
    return format({ weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone }).format(new Date(moment));
  } catch {
    return "";
  }
}

/** @param {string} moment */
export function date(moment) {
  return format({ dateStyle: "medium" }).format(new Date(moment));
}

/** The browser's time zone, such as `Europe/Lisbon`. */
export const TIME_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the day of a time in the browser's time zone, in words. @param {string} moment */
export function dayName(moment) {
  const at = new Date(moment);
  return at.toDateString() === new Date().toDateString() ? t("Today") : format({ weekday: "long", day: "numeric", month: "long" }).format(at);
}

/** @param {string} day `2026-11-21`, of no time zone */
export function calendarDay(day) {
  return format({ day: "2-digit", month: "2-digit", timeZone: "UTC" }).format(new Date(`${day}T00:00Z`));
}

/**
 * Returns the names of the weekdays, Monday first.
 * @param {"long" | "short"} length
 */
export function weekdays(length) {
  const names = format({ weekday: length, timeZone: "UTC" });
  return [5, 6, 7, 8, 9, 10, 11].map((day) => names.format(new Date(Date.UTC(2026, 0, day))));
}

/**
 * Returns how long ago a time is, in one unit.
 * @param {string | null | undefined} moment
 */
export function ago(moment) {
  if (!moment) return t("Never");
  const seconds = Math.round((Date.parse(moment) - Date.now()) / 1000);
  const words = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  for (const [unit, size] of /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60]])) {
    if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
  }
  return words.format(Math.min(seconds, 0), "second");
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString(locale());
}

/** @param {number} share 0 to 1 */
export function percent(share) {
  return share.toLocaleString(locale(), { style: "percent", maximumFractionDigits: share < 0.995 ? 0 : 1 });
}

/** `cameraId` of recognitions from the image API. */
export const IMAGE_API = "00000000-0000-0000-0000-000000000000";

/** Returns the name of a recognition's camera. @param {{cameraId: string, cameraName: string}} row */
export function cameraName(row) {
  return row.cameraId === IMAGE_API ? t("Image API") : row.cameraName;
}

/**
 * Returns the value of a datetime-local input, in the browser's time zone.
 * @param {string | null | undefined} moment ISO 8601
 */
export function toLocalInput(moment) {
  if (!moment) return "";
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** @param {string} value of such an input */
export function fromLocalInput(value) {
  const at = new Date(value);
  return value && !Number.isNaN(at.getTime()) ? at.toISOString() : "";
}

/** @type {Intl.DisplayNames | undefined} */
let regions;

/**
 * Returns the name of a country or region, if the browser knows it.
 * @param {string} code such as `PT` or `US-NY`
 */
export function regionName(code) {
  const [country, ...part] = code.split("-");
  if (!/^[A-Z]{2}$/.test(country)) return code;
  regions ??= new Intl.DisplayNames(locale(), { type: "region" });
  return [regions.of(country) ?? country, ...part].join(", ");
}
