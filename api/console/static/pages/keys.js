/** @file API keys: who may do what, since when, and by whom they were made. */

import { html, useState } from "../html.js";
import { call, get } from "../api.js";
import { ago, date, fromLocalInput } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { Badge, Check, Confirm, CopyButton, Dialog, Empty, Fault, Field, FormFault, Head, Moment, Table, TextField, Waiting, tell } from "../ui.js";
import { t } from "../words.js";

const SCOPES = [
  "recognitions:read", "recognitions:write", "corrections:write", "erasures:write", "cameras:read", "cameras:write", "alerts:read", "alerts:write",
  "webhooks:read", "webhooks:write", "api-keys:read", "api-keys:write", "analytics:read", "credits:read", "audit:read",
];
const MEANINGS = {
  "recognitions:read": () => t("search, follow and look at passes"),
  "recognitions:write": () => t("have images read, for credits"),
  "corrections:write": () => t("write what plates really were"),
  "erasures:write": () => t("erase plates for good"),
  "cameras:read": () => t("see cameras and their pictures"),
  "cameras:write": () => t("add, change and remove cameras"),
  "alerts:read": () => t("see alerts and what they sent"),
  "alerts:write": () => t("make, change and remove alerts"),
  "webhooks:read": () => t("see webhooks, with their secrets"),
  "webhooks:write": () => t("make, change, test and remove webhooks"),
  "api-keys:read": () => t("see keys"),
  "api-keys:write": () => t("make and revoke keys"),
  "analytics:read": () => t("see the figures"),
  "credits:read": () => t("see the credits"),
  "audit:read": () => t("read the audit log"),
};

function NewKey({ onClose, onMade }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(["recognitions:read"]);
  const [ends, setEnds] = useState("");
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => onMade(await call("POST", "/api/api-keys", { body: { name, scopes, expiresAt: fromLocalInput(ends) || null } })));
  };
  const toggle = (scope) => (isOn) => setScopes(SCOPES.filter((one) => (one === scope ? isOn : scopes.includes(one))));
  return html`<${Dialog} title=${t("New key")} onClose=${onClose}><form onSubmit=${submit}>
    <${TextField} label=${t("Name")} required maxlength="200" value=${name} onValue=${setName} fault=${failure?.fault("name")} />
    <fieldset><legend>${t("It may")}</legend>${SCOPES.map((scope) => html`<${Check} key=${scope} label=${html`<code>${scope}</code> ${MEANINGS[scope]()}`} checked=${scopes.includes(scope)} onValue=${toggle(scope)} />`)}</fieldset>
    <${Field} label=${t("Until")} hint=${t("Empty: for good.")} fault=${failure?.fault("expiresAt")}>${(ids) => html`<input ...${ids} type="datetime-local" value=${ends} onInput=${(event) => setEnds(event.currentTarget.value)} />`}</${Field}>
    <${FormFault} failure=${failure} shown=${["name", "expiresAt"]} />
    <div class="actions"><button class="main" disabled=${isBusy || !scopes.length}>${t("Make the key")}</button><button type="button" onClick=${onClose}>${t("Cancel")}</button></div>
  </form></${Dialog}>`;
}

function ShownOnce({ made, onClose }) {
  return html`<${Dialog} title=${t("The key, this once")} onClose=${onClose}>
    <p>${t("Only its hash is kept: nobody can show it again.")}</p>
    <p class="secret"><code>${made.plainKey}</code></p>
    <div class="actions"><${CopyButton} text=${made.plainKey} label=${t("Copy the key")} /><button type="button" onClick=${onClose}>${t("Done")}</button></div>
  </${Dialog}>`;
}

function State({ one }) {
  if (one.expiresAt && Date.parse(one.expiresAt) < Date.now()) return html`<${Badge} kind="off">${t("expired")}</${Badge}>`;
  return one.enabled ? html`<${Badge} kind="good">${t("on")}</${Badge}>` : html`<${Badge} kind="off">${t("off")}</${Badge}>`;
}

export function KeysPage() {
  const found = useLoad((abort) => get("/api/api-keys", {}, abort).then((answer) => answer.apiKeys), ["keys"]);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState(/** @type {any} */ (null));
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
    tell(t("The key is revoked."));
    found.reload();
  });
  const columns = [t("Name"), t("Begins"), t("It may"), t("State"), t("Last used"), t("Made"), t("Ends"), { text: t("Actions"), isHidden: true }];
  return html`<${Head} title=${t("Keys")} note=${t("For programs that call the API. A change counts within a second.")}><button type="button" class="main" onClick=${() => setMaking(true)}>${t("New key")}</button></${Head}>
    ${!revoked && html`<${FormFault} failure=${failure} />`}<${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${4} />`}
    ${found.data && !keys.length && html`<${Empty} title=${t("No key.")} />`}
    ${keys.length > 0 && html`<${Table} caption=${t("Keys")} columns=${columns}>
      ${keys.map((one) => html`<tr key=${one.id}>
        <td><bdi>${one.name}</bdi></td><td><code>${one.prefix}…</code></td>
        <td>${one.scopes.length === SCOPES.length ? t("everything") : one.scopes.map((scope) => html`<code key=${scope} class="event">${scope}</code> `)}</td>
        <td><${State} one=${one} /></td><td>${ago(one.lastUsedAt)}</td>
        <td><${Moment} at=${one.createdAt} format=${date} />${one.ancestors.length > 0 && html` <span class="note">${t("by {key}", { key: names.get(one.ancestors[0]) ?? t("a revoked key") })}</span>`}</td>
        <td>${one.expiresAt ? html`<${Moment} at=${one.expiresAt} format=${date} />` : t("never")}</td>
        <td class="row-actions"><button type="button" disabled=${isBusy} onClick=${() => toggle(one)}>${one.enabled ? t("Switch off") : t("Switch on")}</button> <button type="button" class="danger" onClick=${() => setRevoked(one)}>${t("Revoke")}</button></td>
      </tr>`)}
    </${Table}>`}
    ${isMaking && html`<${NewKey} onClose=${() => setMaking(false)} onMade=${(answer) => { setMaking(false); setMade(answer); found.reload(); }} />`}
    ${made && html`<${ShownOnce} made=${made} onClose=${() => setMade(null)} />`}
    ${revoked && html`<${Confirm} title=${t("Revoke this key?")} action=${t("Revoke")} isBusy=${isBusy} failure=${failure} onYes=${revoke} onNo=${() => setRevoked(null)}>${t("Programs that use it are refused from now on. Keys that it made stay.")} <bdi>${revoked.name}</bdi></${Confirm}>`}`;
}
