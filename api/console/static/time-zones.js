/** @file An input for the name of a time zone. */

import { html } from "./html.js";
import { Field, useId } from "./ui.js";

const ZONES = Intl.supportedValuesOf("timeZone");

/** A text input that suggests IANA names. */
export function TimeZoneField({ label, hint, fault, value, onValue }) {
  const list = useId("zones");
  return html`<${Field} label=${label} hint=${hint} fault=${fault}>
    ${(ids) => html`<input ...${ids} type="text" list=${list} autocomplete="off" spellcheck=${false} value=${value} onInput=${(event) => onValue(event.currentTarget.value.trim())} />
      <datalist id=${list}>${ZONES.map((zone) => html`<option key=${zone} value=${zone} />`)}</datalist>`}
  </${Field}>`;
}
