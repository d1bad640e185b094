/** @file Shared components: buttons, fields, badges, tables, dialogs. */

import { html, useCallback, useEffect, useRef, useState } from "./html.js";
import { ago, dateTime, percent, regionName } from "./format.js";
import { signal, useSignal } from "./signal.js";
import { t } from "./words.js";

let ids = 0;

/** @param {string} prefix */
export function useId(prefix) {
  return useState(() => `${prefix}-${++ids}`)[0];
}

/** A labelled input with its hint and error. `children` is a function from IDs to the input. */
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

/** A text input in a field. `onValue` receives its text. */
export function TextField({ label, hint, fault, wide, value, onValue, ...rest }) {
  return html`<${Field} label=${label} hint=${hint} fault=${fault} wide=${wide}>
    ${(ids) => html`<input ...${ids} type="text" value=${value} onInput=${(event) => onValue(event.currentTarget.value)} ...${rest} />`}
  </${Field}>`;
}

/** A select in a field. `options` are pairs of value and text. */
export function SelectField({ label, hint, fault, wide, value, onValue, options, ...rest }) {
  return html`<${Field} label=${label} hint=${hint} fault=${fault} wide=${wide}>
    ${(ids) => html`<select ...${ids} value=${value} onChange=${(event) => onValue(event.currentTarget.value)} ...${rest}>
      ${options.map(([one, text]) => html`<option key=${one} value=${one} selected=${one === value}>${text}</option>`)}
    </select>`}
  </${Field}>`;
}

/** A check box with its label. */
export function Check({ label, hint, checked, onValue, ...rest }) {
  const id = useId("check");
  return html`<div class="check">
    <input id=${id} type="checkbox" checked=${checked} aria-describedby=${hint ? `${id}-hint` : undefined}
      onChange=${(event) => onValue(event.currentTarget.checked)} ...${rest} />
    <label for=${id}>${label}</label>
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

/** A group of buttons, one of which is pressed. `options` are pairs of value and text. */
export function Segments({ label, value, onValue, options }) {
  return html`<div class="segments" role="group" aria-label=${label}>
    ${options.map(([one, text]) => html`<button key=${one} type="button" aria-pressed=${one === value ? "true" : "false"} onClick=${() => onValue(one)}>${text}</button>`)}
  </div>`;
}

/** A page's heading with its actions. `aside` is next to the title. */
export function Head({ title, aside, children, note }) {
  return html`<header class="head">
    <div><div class="title"><h1 tabindex="-1">${title}</h1>${aside}</div>${note && html`<p class="note">${note}</p>`}</div>
    ${children && html`<div class="actions">${children}</div>`}
  </header>`;
}

/** A failure, with a button to retry. @param {{failure: import("./api.js").Failure | null, retry?: () => void}} props */
export function Fault({ failure, retry }) {
  if (!failure) return null;
  return html`<div class="alarm" role="alert">
    <p>${failure.message}</p>
    ${failure.passes && retry && html`<p class="hint">${t("Retrying automatically.")}</p>`}
    ${!failure.passes && failure.requestId && html`<p class="hint">${t("Request ID: {id}", { id: failure.requestId })}</p>`}
    ${retry && html`<button type="button" onClick=${retry}>${t("Try again")}</button>`}
  </div>`;
}

/** The errors of a form that no field shows. */
export function FormFault({ failure, shown = [] }) {
  if (!failure) return null;
  const others = failure.fields.filter((field) => !shown.some((name) => field.path === name || field.path.startsWith(`${name}.`)));
  return html`<div class="alarm" role="alert"><p>${failure.message}</p>
    ${others.length > 0 && html`<ul>${others.map((field) => html`<li key=${field.path}>${field.path}: ${field.message}</li>`)}</ul>`}
  </div>`;
}

/** A placeholder while data loads for the first time. */
export function Waiting({ rows = 6 }) {
  return html`<div class="waiting" role="status" aria-label=${t("Loading")}>${Array.from({ length: rows }, (_, at) => html`<span key=${at}></span>`)}</div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children && html`<p>${children}</p>`}</div>`;
}

/** A plate. */
export function Plate({ text, size }) {
  return html`<bdi class=${size === "large" ? "plate large" : "plate"} translate="no">${text}</bdi>`;
}

/** The country or region of a plate, if known. */
export function Region({ region }) {
  if (!region?.code) return null;
  return html`<span class="region" title=${regionName(region.code)}>${region.code}</span>`;
}

/** A confidence from 0 to 1, as a percentage in a colour. */
export function Confidence({ value }) {
  const grade = value >= 0.9 ? "high" : value >= 0.7 ? "middle" : "low";
  return html`<span class="confidence ${grade}" title=${t("Confidence")}>${percent(value)}</span>`;
}

/** A time. The tooltip shows the full time and how long ago it was. */
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

/** The status of a camera. */
export function CameraStateBadge({ state }) {
  const [kind, text] = STATES[state] ?? ["off", () => state];
  return html`<${Badge} kind=${kind}>${text()}</${Badge}>`;
}

/** The status of a camera as a dot. */
export function CameraStateDot({ state }) {
  const [kind, text] = STATES[state] ?? ["off", () => state];
  return html`<span class="dot ${kind}" title=${text()}><span class="unseen">${text()}</span></span>`;
}

/** A badge: good, wait, bad, off or info. */
export function Badge({ kind, children }) {
  return html`<span class="badge ${kind}">${children}</span>`;
}

/** A button that copies a text. */
export function CopyButton({ text, label, onCopied = () => {} }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copyText(text);
    onCopied();
    setDone(true);
    setTimeout(() => setDone(false), 2000);
    toast(t("Copied to clipboard"));
  };
  return html`<button type="button" onClick=${copy}>${isDone ? t("Copied") : label}</button>`;
}

/** @param {string} text */
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // The clipboard API is not available over plain HTTP.
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return undefined;
}

/** A table that scrolls horizontally if it does not fit. `columns` are texts or `{text, kind}`. */
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

/** A dialog. Escape closes it, unless it is persistent. */
export function Dialog({ title, onClose, isPersistent = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId("dialog");
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => /** @type {HTMLElement | null} */ (before)?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); onClose(); }}
    onClose=${() => isPersistent && dialog.current?.showModal()}>
    <h2 id=${id}>${title}</h2>${children}
  </dialog>`;
}

/** A button that opens a menu of links, buttons or fields. Escape, a choice and a click elsewhere close it. */
export function Menu({ label, children, kind = "" }) {
  const menu = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  useEffect(() => {
    const leave = (/** @type {Event} */ event) => {
      if (!menu.current?.contains(/** @type {Node} */ (event.target))) close();
    };
    addEventListener("pointerdown", leave);
    addEventListener("focusin", leave);
    return () => {
      removeEventListener("pointerdown", leave);
      removeEventListener("focusin", leave);
    };
  }, []);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !menu.current?.open) return;
    close();
    menu.current.querySelector("summary")?.focus();
  };
  return html`<details class="menu ${kind}" ref=${menu} onKeyDown=${onKeyDown} onClick=${(event) => event.target.closest("a, button") && close()}>
    <summary class="button">${label}</summary><div class="menu-list">${children}</div>
  </details>`;
}

/** Asks for confirmation of an action that cannot be undone. */
export function Confirm({ title, children, action, cancel = t("Cancel"), onYes, onNo, isBusy = false, failure = null }) {
  return html`<${Dialog} title=${title} onClose=${onNo}>
    ${children && html`<p>${children}</p>`}
    <${FormFault} failure=${failure} />
    <div class="actions">
      <button type="button" class="danger" disabled=${isBusy} onClick=${onYes}>${action}</button>
      <button type="button" onClick=${onNo}>${cancel}</button>
    </div>
  </${Dialog}>`;
}

/** The last notice, shown and announced to screen readers. */
const current = signal({ text: "", at: 0 });

/** @param {string} text */
export function toast(text) {
  current.value = { text, at: Date.now() };
}

export function Toast() {
  const { text, at } = useSignal(current);
  useEffect(() => {
    if (!text) return undefined;
    const timer = setTimeout(() => (current.value = { text: "", at: 0 }), 5000);
    return () => clearTimeout(timer);
  }, [at]);
  return html`<div class="toast" role="status">${text && html`<p>${text}</p>`}</div>`;
}

/**
 * Saves a file in the browser.
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

/** Rarely needed fields, collapsed until a field is invalid. @param {{isOpen?: boolean, children?: any}} props */
export function Advanced({ isOpen = false, children }) {
  const box = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const open = () => void (box.current && (box.current.open = true));
  useEffect(() => {
    if (isOpen) open();
  }, [isOpen]);
  return html`<details class="wide advanced" ref=${box} onInvalidCapture=${open}><summary>${t("Advanced")}</summary>${children}</details>`;
}

/** A switch. `label` names what it enables. */
export function Switch({ label, isOn, ...rest }) {
  return html`<button type="button" class="switch" role="switch" aria-checked=${isOn ? "true" : "false"} aria-label=${label} ...${rest}></button>`;
}

/** A menu of a row's actions. The menu is in front of the table, whose edges would hide the menu. */
export function RowMenu({ label, children }) {
  const id = useId("menu");
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const place = useCallback(() => {
    if (!button.current || !list.current) return;
    const { top, bottom, right } = button.current.getBoundingClientRect();
    const isLow = bottom > innerHeight * 0.7;
    list.current.style.inset = `${isLow ? "auto" : `${bottom + 4}px`} ${innerWidth - right}px ${isLow ? `${innerHeight - top + 4}px` : "auto"} auto`;
  }, []);
  const leave = () => removeEventListener("scroll", place, true);
  useEffect(() => leave, []);
  const follow = (event) => {
    leave();
    if (event.newState !== "open") return;
    place();
    addEventListener("scroll", place, true);
  };
  return html`<button ref=${button} type="button" popovertarget=${id} title=${label} aria-label=${label}>⋯</button>
    <div ref=${list} id=${id} popover="auto" class="row-menu" onBeforeToggle=${follow} onClick=${() => list.current?.hidePopover()}>${children}</div>`;
}
