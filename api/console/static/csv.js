/** @file Comma-separated values, as RFC 4180 and spreadsheets write them. */

/**
 * Returns the rows of a text; the separator is what its first line has most of.
 * @param {string} text
 * @returns {string[][]}
 */
export function readCsv(text) {
  const body = text.replace(/^\ufeff/, "");
  const first = body.split("\n", 1)[0];
  const separator = [",", ";", "\t"].reduce((best, each) => (first.split(each).length > first.split(best).length ? each : best));
  /** @type {string[][]} */
  const rows = [[""]];
  let isQuoted = false;
  for (let at = 0; at < body.length; at++) {
    const row = rows[rows.length - 1];
    const sign = body[at];
    if (isQuoted) {
      if (sign !== '"') row[row.length - 1] += sign;
      else if (body[at + 1] === '"') row[row.length - 1] += body[++at];
      else isQuoted = false;
    } else if (sign === '"' && row[row.length - 1] === "") isQuoted = true;
    else if (sign === separator) row.push("");
    else if (sign === "\n") rows.push([""]);
    else if (sign !== "\r") row[row.length - 1] += sign;
  }
  return rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some((cell) => cell !== ""));
}

/**
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function writeCsv(rows) {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/**
 * Returns the API's CSV, which quotes all texts and no number, as spreadsheets may open it.
 * @param {string} text
 */
export function spreadsheetCsv(text) {
  return text.replace(/"((?:[^"]|"")*)"/g, (whole, inside) => (FORMULA.test(inside) ? `"'${inside}"` : whole));
}

/** A spreadsheet would take what begins so for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** @param {string | number} value */
function cell(value) {
  const text = FORMULA.test(String(value)) && typeof value !== "number" ? `'${value}` : String(value);
  return /[",\r\n;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
