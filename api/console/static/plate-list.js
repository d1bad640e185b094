/** @file A list of plates, with or without names: typed, pasted or imported. */

import { html, useRef, useState } from "./html.js";
import { number } from "./format.js";
import { EncodingField, SkippedRows, readCsv } from "./imports.js";
import { useAction } from "./load.js";
import { Field, FormFault } from "./ui.js";
import { t, tn } from "./words.js";

/** Characters that no plate contains. The API finds all other invalid characters. */
const SIGNS = /[!-)+,/:->@[-`{-~]/;

const unquoted = (text) => text.trim().replace(/^"(.*)"$/, "$1").trim();

/**
 * Returns the plates in a text: one per line, with its name after a tab or "=", or several without names.
 * @param {string} text
 * @returns {{plates: string[], names: Record<string, string>}} both as the API accepts them
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

/**
 * Returns whether pasted text has columns or headers, so that the API must read it. A list of plates,
 * also with names as in "AB12CDE = Courier", does not.
 * @param {string} text
 */
export function isTable(text) {
  if (/^[^"\t;=]+ = /m.test(text)) return false;
  if (text.trim().includes("\t")) return true;
  const cells = text.split(/[;\r\n]/).map((cell) => cell.trim()).filter(Boolean);
  return cells.length > 1 && !cells.every((cell) => /[\d*?]/.test(cell));
}

/** Returns the text of a list. @param {readonly string[]} plates @param {Record<string, string>} names */
export function textOfPlates(plates, names) {
  return plates.map((plate) => (Object.hasOwn(names, plate) ? `${plate} = ${names[plate]}` : plate)).join("\n");
}

/** The imported plates and the skipped rows of a file. */
function Report({ found }) {
  return html`<div class="field wide under" role="status"><p class="note">${tn(found.taken, "{n} plate imported", "{n} plates imported")}${found.duplicates > 0 && html`, ${tn(found.duplicates, "{n} duplicate skipped", "{n} duplicates skipped")}`}${found.headings > 0 && html`, ${tn(found.headings, "{n} header row ignored", "{n} header rows ignored")}`} (${found.encoding})</p>
    <${SkippedRows} skipped=${found.skipped} count=${found.skippedCount} />
  </div>`;
}

/** @param {{text: string, onText: (text: string) => void, fault?: string}} props */
export function PlateListField({ text, onText, fault }) {
  const file = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { plates, names } = plateListOf(text);
  const odd = plates.filter((plate) => SIGNS.test(plate));
  const [found, setFound] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run } = useAction();
  const [encoding, setEncoding] = useState("");
  const add = (csv, options) => {
    setFound(null);
    return run(async () => {
      const read = await readCsv("/api/alertas/plates/import", csv, options);
      const added = plateListOf([text, textOfPlates(read.plates, read.plateNames)].join("\n"));
      onText(textOfPlates(added.plates, added.names));
      setFound(read);
    });
  };
  const read = async (event) => {
    const input = event.currentTarget;
    if (!input.files[0]) return;
    await add(input.files[0], { encoding });
    input.value = "";
  };
  const paste = (event) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (!isTable(pasted)) return;
    event.preventDefault();
    add(new Blob([pasted]), { encoding: "utf-8" });
  };
  const named = Object.keys(names).length;
  const hint = t("One per line, or paste from a spreadsheet. Add a name after =, as in AB12CDE = Courier. * matches any characters, ? exactly one. Case, spaces, dots and dashes are ignored.");
  return html`<${Field} wide label=${t("Plates")} hint=${hint} fault=${fault ?? (odd.length ? t("Not a valid plate: {plates}", { plates: odd.slice(0, 5).join(", ") }) : undefined)}>
      ${(ids) => html`<textarea ...${ids} rows="6" class="plate-list" spellcheck=${false} value=${text} onPaste=${paste} onInput=${(event) => onText(event.currentTarget.value)}></textarea>`}
    </${Field}>
    <div class="field wide under"><span class="note" role="status">${tn(plates.length, "{n} plate", "{n} plates")}${named > 0 && html`, ${t("{n} named", { n: number(named) })}`}</span>
      <input ref=${file} type="file" hidden accept=".csv,.txt,text/csv,text/plain" aria-label=${t("Plate list file")} onChange=${read} />
      <button type="button" disabled=${isBusy} onClick=${() => file.current?.click()}>${t("Import file")}</button>
      <span class="note">${t("Text or CSV file: one column of plates, optionally one of names")}</span>
      <${FormFault} failure=${failure} />
    </div>
    <${EncodingField} value=${encoding} onValue=${setEncoding} />
    ${found && html`<${Report} found=${found} />`}`;
}
