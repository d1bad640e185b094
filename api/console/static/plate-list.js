/** @file A list of plates, each with a name or none: typed, pasted from anywhere, or from a file. */

import { html, useRef } from "./html.js";
import { readCsv } from "./csv.js";
import { Field } from "./ui.js";
import { t, tn } from "./words.js";

/** What may stand for a plate, once spaces, dots and dashes are gone. */
const FORM = /^[\p{L}\p{N}*?]+$/u;

/** What the first line of a file calls its columns. */
const PLATE_TITLES = /^(plate|plates|number ?plate|placa|placas|matr[íi]culas?)$/i;
const NAME_TITLES = /^(name|names|nome|nomes)$/i;

const unquoted = (text) => text.trim().replace(/^"(.*)"$/, "$1").trim();

/**
 * The plates of a text: one a line, its name behind a tab or "="; or several without names.
 * @param {string} text
 * @returns {{plates: string[], names: Record<string, string>}} both as the API takes them
 */
export function plateListOf(text) {
  const entries = text.split(/\r?\n/).flatMap((line) => {
    const [plate, ...name] = line.split(/[=\t]/);
    return name.length ? [[unquoted(plate), unquoted(name.join(" "))]] : line.split(/[,;]/).map((cell) => [unquoted(cell), ""]);
  });
  const known = new Map();
  for (const [plate, name] of entries) if (plate) known.set(plate, name || known.get(plate) || "");
  return { plates: [...known.keys()], names: Object.fromEntries([...known].filter(([, name]) => name)) };
}

/** The text of a list. @param {readonly string[]} plates @param {Record<string, string>} names */
export function textOfPlates(plates, names) {
  return plates.map((plate) => (Object.hasOwn(names, plate) ? `${plate} = ${names[plate]}` : plate)).join("\n");
}

/** @param {string} plate */
const isPlate = (plate) => FORM.test(plate.replace(/[\s.\-–·]/g, ""));

/** The lines of a file: its first column has the plates, the second or the one of that title names. @param {string} text */
function linesOf(text) {
  const rows = readCsv(text);
  const plateAt = Math.max(0, (rows[0] ?? []).findIndex((cell) => PLATE_TITLES.test(cell)));
  const hasTitles = PLATE_TITLES.test(rows[0]?.[plateAt] ?? "");
  const titled = hasTitles ? rows[0].findIndex((cell) => NAME_TITLES.test(cell)) : 1;
  return rows.slice(hasTitles ? 1 : 0).filter((row) => isPlate(row[plateAt] ?? "")).map((row) => (row[titled] ? `${row[plateAt]} = ${row[titled]}` : row[plateAt]));
}

/** @param {{text: string, onText: (text: string) => void, fault?: string}} props */
export function PlateListField({ text, onText, fault }) {
  const file = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { plates, names } = plateListOf(text);
  const odd = plates.filter((plate) => !isPlate(plate));
  const read = async (event) => {
    const input = event.currentTarget;
    const chosen = input.files[0];
    if (!chosen) return;
    const added = plateListOf([text, ...linesOf(await chosen.text())].join("\n"));
    onText(textOfPlates(added.plates, added.names));
    input.value = "";
  };
  const named = Object.keys(names).length;
  const hint = t("One a line, or pasted from a table; its name behind it, as in AB12CDE = Courier. * stands for any characters, ? for one; case, spaces, dots and dashes do not matter.");
  return html`<${Field} wide label=${t("Plates")} hint=${hint} fault=${fault ?? (odd.length ? t("Not a plate: {plates}", { plates: odd.slice(0, 5).join(", ") }) : undefined)}>
      ${(ids) => html`<textarea ...${ids} rows="6" class="plate-list" spellcheck=${false} value=${text} onInput=${(event) => onText(event.currentTarget.value)}></textarea>`}
    </${Field}>
    <div class="field wide under"><span class="note" role="status">${tn(plates.length, "{n} plate", "{n} plates")}${named > 0 && html`, ${tn(named, "{n} with a name", "{n} with names")}`}</span>
      <input ref=${file} type="file" hidden accept=".csv,.txt,text/csv,text/plain" aria-label=${t("File with plates")} onChange=${read} />
      <button type="button" onClick=${() => file.current?.click()}>${t("Add from a file")}</button>
      <span class="note">${t("CSV: plates in the first column, names in the second.")}</span>
    </div>`;
}
