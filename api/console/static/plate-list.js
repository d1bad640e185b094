/** @file A list of plates: typed, pasted from anywhere, or from a file. */

import { html, useRef } from "./html.js";
import { Field } from "./ui.js";
import { t, tn } from "./words.js";

/** What may stand for a plate, once spaces, dots and dashes are gone. */
const FORM = /^[\p{L}\p{N}*?]+$/u;

/**
 * The plates of a text: one a line or cell; the first cell of a line that may be one counts.
 * @param {string} text
 */
export function platesOf(text) {
  const cells = text.split(/[\n,;\t]+/).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1").trim());
  return [...new Set(cells.filter(Boolean))];
}

/** @param {string} plate */
const isPlate = (plate) => FORM.test(plate.replace(/[\s.\-–·]/g, ""));

/** @param {{text: string, onText: (text: string) => void, fault?: string}} props */
export function PlateListField({ text, onText, fault }) {
  const file = useRef(/** @type {HTMLInputElement | null} */ (null));
  const plates = platesOf(text);
  const odd = plates.filter((plate) => !isPlate(plate));
  const read = async (event) => {
    const chosen = event.currentTarget.files[0];
    if (!chosen) return;
    const added = platesOf(await chosen.text());
    onText([...new Set([...plates, ...added.filter(isPlate)])].join("\n"));
    event.currentTarget.value = "";
  };
  const hint = t("One a line, or pasted from a table. * stands for any characters, ? for one; case, spaces, dots and dashes do not matter.");
  return html`<${Field} wide label=${t("Plates")} hint=${hint} fault=${fault ?? (odd.length ? t("Not a plate: {plates}", { plates: odd.slice(0, 5).join(", ") }) : undefined)}>
      ${(ids) => html`<textarea ...${ids} rows="6" class="plate-list" spellcheck=${false} value=${text} onInput=${(event) => onText(event.currentTarget.value)}></textarea>`}
    </${Field}>
    <div class="field wide under"><span class="note" role="status">${tn(plates.length, "{n} plate", "{n} plates")}</span>
      <input ref=${file} type="file" hidden accept=".csv,.txt,text/csv,text/plain" aria-label=${t("File with plates")} onChange=${read} />
      <button type="button" onClick=${() => file.current?.click()}>${t("Add from a file")}</button>
    </div>`;
}
