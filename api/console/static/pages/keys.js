/** @file API keys: scopes, expiry, and the keys that created them. */

import { html, useState } from "../html.js";
import { call, get } from "../api.js";
import { ago, date, fromLocalInput } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { Badge, Confirm, CopyButton, Dialog, Empty, Fault, Field, FormFault, Head, Moment, Segments, Table, TextField, Waiting, toast } from "../ui.js";
import { t } from "../words.js";

const SCOPES = [
  "recognitions:read", "recognitions:write", "corrections:write", "erasures:write", "cameras:read", "cameras:write", "alerts:read", "alerts:write",
  "webhooks:read", "webhooks:write", "api-keys:read", "api-keys:write", "analytics:read", "credits:read", "audit:read",
];
const MEANINGS = {
  "recognitions:read": () => t("Search, stream and view recognitions"),
  "recognitions:write": () => t("Recognise plates in images (uses credits)"),
  "corrections:write": () => t("Correct plates"),
  "erasures:write": () => t("Erase plates permanently"),
  "cameras:read": () => t("View cameras and snapshots"),
  "cameras:write": () => t("Add, edit and delete cameras"),
  "alerts:read": () => t("View alerts and their deliveries"),
  "alerts:write": () => t("Create, edit and delete alerts"),
  "webhooks:read": () => t("View webhooks, including secrets"),
  "webhooks:write": () => t("Create, edit, test and delete webhooks"),
  "api-keys:read": () => t("View API keys"),
  "api-keys:write": () => t("Create and revoke API keys"),
  "analytics:read": () => t("View analytics"),
  "credits:read": () => t("View credits"),
  "audit:read": () => t("View the audit log"),
};

/** The resources of the table: name, scope that reads, scope that writes, and a note. @type {[() => string, string, string, (() => string)?][]} */
const RESOURCES = [
  [() => t("Recognitions"), "recognitions:read", "recognitions:write", () => t("Write: recognise plates in images (uses credits)")],
  [() => t("Corrections"), "", "corrections:write"],
  [() => t("Erasures"), "", "erasures:write", () => t("Erase plates permanently")],
  [() => t("Cameras"), "cameras:read", "cameras:write"],
  [() => t("Alerts"), "alerts:read", "alerts:write"],
  [() => t("Webhooks"), "webhooks:read", "webhooks:write", () => t("Read access includes secrets")],
  [() => t("API keys"), "api-keys:read", "api-keys:write"],
  [() => t("Analytics"), "analytics:read", ""],
  [() => t("Credits"), "credits:read", ""],
  [() => t("Audit log"), "audit:read", ""],
];
const FIRST = ["recognitions:read"];
const READING = SCOPES.filter((scope) => scope.endsWith(":read"));

/** @param {string[]} scopes */
const presetOf = (scopes) => ({ [String(READING)]: "read", [String(SCOPES)]: "full" })[String(scopes)] ?? "custom";

function ScopeFields({ scopes, onScopes }) {
  const toggle = (scope) => (event) => onScopes(SCOPES.filter((one) => (one === scope ? event.currentTarget.checked : scopes.includes(one))));
  const box = (scope) => html`<td class="choose">${scope ? html`<input type="checkbox" aria-label=${`${scope}: ${MEANINGS[scope]()}`} title=${MEANINGS[scope]()} checked=${scopes.includes(scope)} onChange=${toggle(scope)} />` : "–"}</td>`;
  return html`<fieldset><legend>${t("Scopes")}</legend>
    <${Segments} label=${t("Preset")} value=${presetOf(scopes)} onValue=${(name) => onScopes({ read: READING, full: SCOPES }[name] ?? FIRST)} options=${[["read", t("Read only")], ["full", t("Full access")], ["custom", t("Custom")]]} />
    <div class="scope-table"><${Table} kind="scopes" caption=${t("Scopes")} columns=${[t("Resource"), { text: t("Read"), kind: "choose" }, { text: t("Write"), kind: "choose" }]}>
      ${RESOURCES.map(([name, read, write, note]) => html`<tr key=${read + write}><th scope="row">${name()}${note && html`<span class="note">${note()}</span>`}</th>${box(read)}${box(write)}</tr>`)}
    </${Table}></div>
  </fieldset>`;
}

function NewKey({ onClose, onCreated }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(FIRST);
  const [ends, setEnds] = useState("");
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => onCreated(await call("POST", "/api/api-keys", { body: { name, scopes, expiresAt: fromLocalInput(ends) || null } })));
  };
  return html`<${Dialog} title=${t("New API key")} onClose=${onClose}><form onSubmit=${submit}>
    <${TextField} label=${t("Name")} required maxlength="200" value=${name} onValue=${setName} fault=${failure?.fault("name")} />
    <${ScopeFields} scopes=${scopes} onScopes=${setScopes} />
    <${Field} label=${t("Expires")} hint=${t("Leave empty for no expiry")} fault=${failure?.fault("expiresAt")}>${(ids) => html`<input ...${ids} type="datetime-local" value=${ends} onInput=${(event) => setEnds(event.currentTarget.value)} />`}</${Field}>
    <${FormFault} failure=${failure} shown=${["name", "expiresAt"]} />
    <div class="actions"><button class="main" disabled=${isBusy || !scopes.length}>${t("Create API key")}</button><button type="button" onClick=${onClose}>${t("Cancel")}</button></div>
  </form></${Dialog}>`;
}

/** The new key. Asks before the dialog is closed if the key has not been copied. */
function ShownOnce({ created, onClose }) {
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const close = () => (isCopied || isAsking ? onClose() : setAsking(true));
  return html`<${Dialog} title=${t("API key created")} onClose=${() => (isCopied ? onClose() : setAsking(true))}>
    <p>${t("Copy it now: only a hash is stored, so it can't be shown again.")}</p>
    <p class="secret" onCopy=${() => setCopied(true)}><code>${created.plainKey}</code></p>
    ${isAsking && !isCopied && html`<p class="warning" role="alert">${t("You haven't copied the key yet. Close anyway?")}</p>`}
    <div class="actions"><${CopyButton} text=${created.plainKey} label=${t("Copy API key")} onCopied=${() => setCopied(true)} /><button type="button" class=${isAsking && !isCopied ? "danger" : undefined} onClick=${close}>${isAsking && !isCopied ? t("Close without copying") : t("Done")}</button></div>
  </${Dialog}>`;
}

function State({ one }) {
  if (one.expiresAt && Date.parse(one.expiresAt) < Date.now()) return html`<${Badge} kind="off">${t("Expired")}</${Badge}>`;
  return one.enabled ? html`<${Badge} kind="good">${t("Enabled")}</${Badge}>` : html`<${Badge} kind="off">${t("Disabled")}</${Badge}>`;
}

export function KeysPage() {
  const found = useLoad((abort) => get("/api/api-keys", {}, abort).then((answer) => answer.apiKeys), ["keys"]);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState(/** @type {any} */ (null));
  const [revoked, setRevoked] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run } = useAction();
  const keys = found.data ?? [];
  const names = new Map(keys.map((one) => [one.id, one.name]));
  const toggle = (one) => run(async () => {
    await call("PUT", `/api/api-keys/${one.id}`, { body: { enabled: !one.enabled } });
    found.reload();
  });
  const revoke = () => run(async () => {
    await call("DELETE", `/api/api-keys/${revoked.id}`);
    setRevoked(null);
    toast(t("API key revoked"));
    found.reload();
  });
  const columns = [t("Name"), t("Prefix"), t("Scopes"), t("Status"), t("Last used"), t("Created"), t("Expires"), { text: t("Actions"), isHidden: true }];
  return html`<${Head} title=${t("API keys")} note=${t("For programs that call the API. Changes take effect within a second.")}><button type="button" class="main" onClick=${() => setCreating(true)}>${t("Create API key")}</button></${Head}>
    ${!revoked && html`<${FormFault} failure=${failure} />`}<${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${4} />`}
    ${found.data && !keys.length && html`<${Empty} title=${t("No API keys yet")}>${t("Create a key to call the API from your own programs.")}</${Empty}>`}
    ${keys.length > 0 && html`<${Table} caption=${t("API keys")} columns=${columns}>
      ${keys.map((one) => html`<tr key=${one.id}>
        <td><bdi>${one.name}</bdi></td><td><code class="nowrap">${one.prefix}…</code></td>
        <td>${one.scopes.length === SCOPES.length ? t("All scopes") : one.scopes.map((scope) => html`<code key=${scope} class="event">${scope}</code> `)}</td>
        <td><${State} one=${one} /></td><td>${ago(one.lastUsedAt)}</td>
        <td><${Moment} at=${one.createdAt} format=${date} />${one.ancestors.length > 0 && html` <span class="note">${t("by {key}", { key: names.get(one.ancestors[0]) ?? t("a revoked key") })}</span>`}</td>
        <td>${one.expiresAt ? html`<${Moment} at=${one.expiresAt} format=${date} />` : t("Never")}</td>
        <td class="row-actions"><button type="button" disabled=${isBusy} onClick=${() => toggle(one)}>${one.enabled ? t("Disable") : t("Enable")}</button> <button type="button" class="danger" onClick=${() => setRevoked(one)}>${t("Revoke")}</button></td>
      </tr>`)}
    </${Table}>`}
    ${isCreating && html`<${NewKey} onClose=${() => setCreating(false)} onCreated=${(answer) => { setCreating(false); setCreated(answer); found.reload(); }} />`}
    ${created && html`<${ShownOnce} created=${created} onClose=${() => setCreated(null)} />`}
    ${revoked && html`<${Confirm} title=${t("Revoke {name}?", { name: revoked.name })} action=${t("Revoke")} isBusy=${isBusy} failure=${failure} onYes=${revoke} onNo=${() => setRevoked(null)}>${t("Programs using it stop working immediately. Keys created with it stay valid.")}</${Confirm}>`}`;
}
