/** @file Parts that many views share: buttons, fields, notes, tables, dialogs. */

import { html, useEffect, useRef, useState } from "./html.js";
import { ago, dateTime, percent, regionName } from "./format.js";
import { signal, useSignal } from "./signal.js";
import { t } from "./words.js";

let ids = 0;

/** @param {string} prefix */
export function useId(prefix) {
  return useState(() => `${prefix}-${++ids}`)[0];
}

/** A labelled input with its hint and its fault; `children` is a function from ids to the input. */
export function Field({ label, hint, fault, wide, children }) {
  const id = useId("field");
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ") || undefined;
  return html`<div class=${wide ? "field wide" : "field"}>
    <label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": described, "aria-invalid": fault ? "true" : undefined })}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    ${fault && html`<p class="fault" id="${id}-fault">${fault}</p>`}
  </div>`;
}

/** An input of one line in a field; `onValue` gets its text. */
export function TextField({ label, hint, fault, wide, value, onValue, ...rest }) {
  return html`<${Field} label=${label} hint=${hint} fault=${fault} wide=${wide}>
    ${(ids) => html`<input ...${ids} type="text" value=${value} onInput=${(event) => onValue(event.currentTarget.value)} ...${rest} />`}
  </${Field}>`;
}

/** A choice of `options`, pairs of value and text. */
export function SelectField({ label, hint, fault, wide, value, onValue, options, ...rest }) {
  return html`<${Field} label=${label} hint=${hint} fault=${fault} wide=${wide}>
    ${(ids) => html`<select ...${ids} value=${value} onChange=${(event) => onValue(event.currentTarget.value)} ...${rest}>
      ${options.map(([one, text]) => html`<option key=${one} value=${one} selected=${one === value}>${text}</option>`)}
    </select>`}
  </${Field}>`;
}

/** A check box with its text beside it. */
export function Check({ label, hint, checked, onValue, ...rest }) {
  const id = useId("check");
  return html`<div class="check">
    <input id=${id} type="checkbox" checked=${checked} aria-describedby=${hint ? `${id}-hint` : undefined}
      onChange=${(event) => onValue(event.currentTarget.checked)} ...${rest} />
    <label for=${id}>${label}</label>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

/** Buttons of which one is pressed: `options` are pairs of value and text. */
export function Segments({ label, value, onValue, options }) {
  return html`<div class="segments" role="group" aria-label=${label}>
    ${options.map(([one, text]) => html`<button key=${one} type="button" aria-pressed=${one === value ? "true" : "false"} onClick=${() => onValue(one)}>${text}</button>`)}
  </div>`;
}

/** A heading with what can be done beside it. */
export function Head({ title, children, note }) {
  return html`<header class="head">
    <div><h1 tabindex="-1">${title}</h1>${note && html`<p class="note">${note}</p>`}</div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
}

/** What failed, and the way on. @param {{failure: import("./api.js").Failure | null, retry?: () => void}} props */
export function Fault({ failure, retry }) {
  if (!failure) return null;
  return html`<div class="alarm" role="alert">
    <p>${failure.message}</p>
    ${failure.passes && retry && html`<p class="hint">${t("Retrying automatically.")}</p>`}
    ${!failure.passes && failure.requestId && html`<p class="hint">${t("Request ID: {id}", { id: failure.requestId })}</p>`}
    ${retry && html`<button type="button" onClick=${retry}>${t("Try again")}</button>`}
  </div>`;
}

/** The faults of a form that no field shows. */
export function FormFault({ failure, shown = [] }) {
  if (!failure) return null;
  const others = failure.fields.filter((field) => !shown.some((name) => field.path === name || field.path.startsWith(`${name}.`)));
  return html`<div class="alarm" role="alert"><p>${failure.message}</p>
    ${others.length > 0 && html`<ul>${others.map((field) => html`<li key=${field.path}>${field.path}: ${field.message}</li>`)}</ul>`}
  </div>`;
}

/** What stands while something comes the first time. */
export function Waiting({ rows = 6 }) {
  return html`<div class="waiting" role="status" aria-label=${t("Loading")}>${Array.from({ length: rows }, (_, at) => html`<span key=${at}></span>`)}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children && html`<p>${children}</p>`}</div>`;
}

/** A plate as it is read, set like one. */
export function Plate({ text, size }) {
  return html`<bdi class=${size === "large" ? "plate large" : "plate"} translate="no">${text}</bdi>`;
}

/** The country or region of a plate, where it is known. */
export function Region({ region }) {
  if (!region?.code) return null;
  return html`<span class="region" title=${regionName(region.code)}>${region.code}</span>`;
}

/** A confidence of 0 to 1: in figures, and by how sure that is. */
export function Sureness({ value }) {
  const grade = value >= 0.9 ? "high" : value >= 0.7 ? "middle" : "low";
  return html`<span class="sureness ${grade}" title=${t("Confidence")}>${percent(value)}</span>`;
}

/** A moment, with its full form and its distance for who points at it. */
export function Moment({ at, format = dateTime }) {
  if (!at) return html`<span>–</span>`;
  return html`<time datetime=${at} title=${`${dateTime(at)} (${ago(at)})`}>${format(at)}</time>`;
}

const STATES = {
  online: ["good", () => t("Online")],
  connecting: ["wait", () => t("Connecting")],
  offline: ["bad", () => t("Offline")],
  disabled: ["off", () => t("Disabled")],
};

/** The state of a camera. */
export function CameraStateBadge({ state }) {
  const [kind, text] = STATES[state] ?? ["off", () => state];
  return html`<${Badge} kind=${kind}>${text()}</${Badge}>`;
}

/** A word with a mark that says how it is: good, wait, bad, off, info. */
export function Badge({ kind, children }) {
  return html`<span class="badge ${kind}">${children}</span>`;
}

/** A button that copies a text. */
export function CopyButton({ text, label }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 2000);
    tell(t("Copied to clipboard"));
  };
  return html`<button type="button" onClick=${copy}>${isDone ? t("Copied") : label}</button>`;
}

/** @param {string} text */
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Over plain HTTP there is no clipboard API.
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return undefined;
}

/** A table that scrolls by itself where there is no room; `columns` are texts or `{text, kind}`. */
export function Table({ caption, columns, children, kind = "" }) {
  return html`<div class="scroller" tabindex="0" role="region" aria-label=${caption}>
    <table class=${kind}>
      <caption class="unseen">${caption}</caption>
      <thead><tr>${columns.map((column, at) => {
        const { text, kind: of, isHidden } = typeof column === "string" ? { text: column, kind: "", isHidden: false } : column;
        return html`<th key=${at} scope="col" class=${of}>${isHidden ? html`<span class="unseen">${text}</span>` : text}</th>`;
      })}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>`;
}

/** A dialog over the page; Escape closes it, unless it is kept. */
export function Dialog({ title, onClose, isKept = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId("dialog");
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => /** @type {HTMLElement | null} */ (before)?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); onClose(); }}
    onClose=${() => isKept && dialog.current?.showModal()}>
    <h2 id=${id}>${title}</h2>${children}
  </dialog>`;
}

/** A question before something that cannot be taken back. */
export function Confirm({ title, children, action, onYes, onNo, isBusy, failure }) {
  return html`<${Dialog} title=${title} onClose=${onNo}>
    ${children && html`<p>${children}</p>`}
    <${FormFault} failure=${failure} />
    <div class="actions">
      <button type="button" class="danger" disabled=${isBusy} onClick=${onYes}>${action}</button>
      <button type="button" onClick=${onNo}>${t("Cancel")}</button>
    </div>
  </${Dialog}>`;
}

/** The last thing that was done, for all to see and hear. */
const told = signal({ text: "", at: 0 });

/** @param {string} text */
export function tell(text) {
  told.value = { text, at: Date.now() };
}

export function Told() {
  const { text, at } = useSignal(told);
  useEffect(() => {
    if (!text) return undefined;
    const timer = setTimeout(() => (told.value = { text: "", at: 0 }), 5000);
    return () => clearTimeout(timer);
  }, [at]);
  return html`<div class="told" role="status">${text && html`<p>${text}</p>`}</div>`;
}

/**
 * Has the browser save a file.
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
export function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
