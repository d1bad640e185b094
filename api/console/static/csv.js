/** @file CSV files of tables, for Excel: a byte order mark, local times, no formulas. */

import { session } from "./session.js";

/** Excel separates columns with semicolons if the decimal separator is a comma. */
export const separator = new Intl.NumberFormat(navigator.language).format(1.5).includes(",") ? "semicolon" : "comma";

export const BYTE_ORDER_MARK = "\ufeff";

/** @param {readonly (readonly (string | number)[])[]} rows */
export function writeCsv(rows) {
  const between = separator === "semicolon" ? ";" : ",";
  return BYTE_ORDER_MARK + rows.map((row) => row.map(cell).join(between)).join("\r\n") + "\r\n";
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const localFormats = new Map();

/**
 * A time in the account's time zone, as Excel reads it: `2026-11-28 10:26:38`.
 * @param {string} moment ISO 8601
 */
export function localTime(moment) {
  const timeZone = session.value?.timezone ?? "UTC";
  const format = localFormats.get(timeZone) ?? new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone });
  localFormats.set(timeZone, format);
  return format.format(new Date(moment));
}

/** Excel reads text that starts like this as a formula, also after another separator. */
const FORMULA = /(^|[;,|\t])( *[=+@＝＋－＠\t\r\n-])/g;

/** @param {string | number} value */
function cell(value) {
  const text = typeof value === "number" ? String(value) : value.replace(FORMULA, "$1'$2");
  return /[",\r\n;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
