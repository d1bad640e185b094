/** @file CSV files that the API reads: in any encoding, with a report of skipped rows. */

import { html } from "./html.js";
import { call } from "./api.js";
import { number } from "./format.js";
import { SelectField } from "./ui.js";
import { t, tn } from "./words.js";

const SHOWN = 20;
const ENCODINGS = ["utf-8", "utf-16", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "iso-8859-1"];

/** @typedef {{line: number, text: string, code: string, reason: string, position?: number}} SkippedRow */

/** @type {Record<string, (row: SkippedRow) => string>} */
const REASONS = {
  invalid_character: ({ text, position = 0 }) => t("{character} (position {position}) isn't allowed in a plate", { character: [...text][position - 1] ?? "", position }),
  empty_plate: () => t("no plate"),
  plate_too_long: () => t("too long for a plate"),
  unreadable_row: () => t("misplaced or unclosed quotation mark, or a cell that is too long"),
  unclear_encoding: () => t("the encoding is unclear; choose the file's encoding and import it again"),
  limit_reached: () => t("over the limit of plates per alert"),
};

/**
 * Returns what the API reads in a file. Nothing is stored.
 * @param {string} path
 * @param {Blob} file
 * @param {{encoding?: string, signal?: AbortSignal}} [options] `encoding` is detected if it is empty
 */
export const readCsv = (path, file, { encoding, signal } = {}) => call("POST", path, { csv: file, query: { encoding }, signal });

/** @param {{value: string, onValue: (encoding: string) => void}} props */
export function EncodingField(props) {
  return html`<${SelectField} label=${t("File encoding")} options=${[["", t("Detect automatically")], ...ENCODINGS.map((name) => [name, name])]} ...${props} />`;
}

/** @param {{skipped: SkippedRow[], count: number}} props */
export function SkippedRows({ skipped, count }) {
  if (!count) return null;
  return html`<div class="alarm"><p>${tn(count, "{n} row skipped:", "{n} rows skipped:")}</p>
    <ul>${skipped.slice(0, SHOWN).map((row) => html`<li key=${row.line}>${t("line {line}", { line: row.line })}, <bdi>${row.text}</bdi>: ${REASONS[row.code]?.(row) ?? row.reason}</li>`)}</ul>
    ${count > SHOWN && html`<p>${t("+{n} more", { n: number(count - SHOWN) })}</p>`}
  </div>`;
}
