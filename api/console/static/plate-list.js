/** @file A list of plates, each with a name or none: typed, pasted from anywhere, or from a file. */

import { html, useRef, useState } from "./html.js";
import { SkippedRows, readCsv } from "./imports.js";
import { useAction } from "./load.js";
import { Field, FormFault } from "./ui.js";
import { t, tn } from "./words.js";

/** Signs that no plate has; the API finds all others. */
const SIGNS = /[!-)+,/:->@[-`{-~]/;

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

/** What was taken of a file, and what was not. */
function Report({ found }) {
  return html`<div class="field wide under" role="status"><p class="note">${tn(found.taken, "{n} plate was read", "{n} plates were read")}${found.duplicates > 0 && html`, ${tn(found.duplicates, "{n} duplicate was left out", "{n} duplicates were left out")}`} (${found.encoding})</p>
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
  const read = async (event) => {
    const input = event.currentTarget;
    const chosen = input.files[0];
    if (!chosen) return;
    setFound(null);
    await run(async () => {
      const read = await readCsv("/api/alertas/plates/import", chosen);
      const added = plateListOf([text, textOfPlates(read.plates, read.plateNames)].join("\n"));
      onText(textOfPlates(added.plates, added.names));
      setFound(read);
    });
    input.value = "";
  };
  const named = Object.keys(names).length;
  const hint = t("One a line, or pasted from a table; its name behind it, as in AB12CDE = Courier. * stands for any characters, ? for one; case, spaces, dots and dashes do not matter.");
  return html`<${Field} wide label=${t("Plates")} hint=${hint} fault=${fault ?? (odd.length ? t("Not a plate: {plates}", { plates: odd.slice(0, 5).join(", ") }) : undefined)}>
      ${(ids) => html`<textarea ...${ids} rows="6" class="plate-list" spellcheck=${false} value=${text} onInput=${(event) => onText(event.currentTarget.value)}></textarea>`}
    </${Field}>
    <div class="field wide under"><span class="note" role="status">${tn(plates.length, "{n} plate", "{n} plates")}${named > 0 && html`, ${tn(named, "{n} with a name", "{n} with names")}`}</span>
      <input ref=${file} type="file" hidden accept=".csv,.txt,text/csv,text/plain" aria-label=${t("File with plates")} onChange=${read} />
      <button type="button" disabled=${isBusy} onClick=${() => file.current?.click()}>${t("Add from a file")}</button>
      <span class="note">${t("A text file or CSV: a column of plates, and one of names if there is one.")}</span>
      <${FormFault} failure=${failure} />
    </div>
    ${found && html`<${Report} found=${found} />`}`;
}
