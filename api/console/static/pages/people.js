/** @file The people of the account: roles and invitations. */

import { html, useState } from "../html.js";
import { call, get } from "../api.js";
import { ago, date } from "../format.js";
import { isKnown, useAction, useLoad } from "../load.js";
import { ROLES, RoleField } from "../roles.js";
import { ADMINISTRATOR, refreshSession, useMay } from "../session.js";
import { Badge, Confirm, CopyButton, Dialog, Empty, Fault, FormFault, Head, Moment, RowMenu, Table, TextField, Waiting, toast } from "../ui.js";
import { t } from "../words.js";

/** Returns the URL at which an invitation is accepted. The part after the # stays in the browser. */
const linkOf = (token) => `${location.origin}/invitation#${token}`;

const nameOf = (person) => person.name || person.email;

/** Warns about a link that only works on this computer. */
function LocalLink() {
  const isLocal = location.hostname === "localhost" || location.hostname.startsWith("127.") || location.hostname === "[::1]";
  return isLocal && html`<p class="warning">${t("The link starts with {origin}, so it only works on this computer. For other people, open the console at an address that they can reach, and invite them there.", { origin: location.origin })}</p>`;
}

function Invite({ onClose, onCreated }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("viewer");
  const sends = useLoad((abort) => get("/api/alertas", { limit: 1 }, abort).then((answer) => answer.sendsEmail), []);
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => onCreated(await call("POST", "/api/invitations", { body: { email: email.trim(), role } })));
  };
  return html`<${Dialog} title=${t("Invite person")} onClose=${onClose}><form onSubmit=${submit}>
    <${TextField} label=${t("Email")} type="email" required maxlength="254" autocomplete="off" value=${email} onValue=${setEmail} fault=${failure?.fault("email")} hint=${t("They log in with this address.")} />
    <${RoleField} role=${role} onRole=${setRole} />
    ${sends.data !== null && html`<p class="note">${sends.data ? t("An email with a link is sent to them. You also get a link to share.") : t("Email isn't configured on this server: you get a link to share yourself.")}</p>`}
    <${LocalLink} />
    <${FormFault} failure=${failure} shown=${["email"]} />
    <div class="actions"><button class="main" disabled=${isBusy}>${t("Create invitation")}</button><button type="button" onClick=${onClose}>${t("Cancel")}</button></div>
  </form></${Dialog}>`;
}

function LinkShownOnce({ created, onClose }) {
  const link = linkOf(created.token);
  return html`<${Dialog} title=${t("Invitation link")} onClose=${onClose}>
    ${created.emailError && html`<div class="alarm" role="alert"><p>${t("The email couldn't be sent, but the invitation is valid. Share the link yourself.")}</p><p class="hint"><bdi>${created.emailError}</bdi></p></div>`}
    <p>${created.emailSent ? t("An email with a different link was sent; opening that link also verifies the address. You can share the link below instead. It works once, until") : t("Share this link with them. It works once, until")} <${Moment} at=${created.invitation.expiresAt} />. ${t("It can't be shown again. Inviting the same address again replaces it.")}</p>
    <p class="secret"><code>${link}</code></p>
    <${LocalLink} />
    <div class="actions"><${CopyButton} text=${link} label=${t("Copy link")} /><button type="button" onClick=${onClose}>${t("Done")}</button></div>
  </${Dialog}>`;
}

function ChangeRole({ person, onClose, onChanged }) {
  const [role, setRole] = useState(person.role);
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => onChanged((await call("PUT", `/api/people/${person.id}`, { body: { role } })).person));
  };
  return html`<${Dialog} title=${t("Change role")} onClose=${onClose}><form onSubmit=${submit}>
    <p><bdi>${nameOf(person)}</bdi></p>
    <${RoleField} role=${role} onRole=${setRole} />
    ${person.isSelf && html`<p class="hint">${t("This is you. With another role you lose access to this page.")}</p>`}
    <${FormFault} failure=${failure} />
    <div class="actions"><button class="main" disabled=${isBusy || role === person.role}>${t("Save changes")}</button><button type="button" onClick=${onClose}>${t("Cancel")}</button></div>
  </form></${Dialog}>`;
}

/** How a person logs in. */
function LoginMethod({ one }) {
  if (one.identity) return html`<span title=${`${one.identity.subject} · ${one.identity.issuer}`}>${t("Single sign-on")}</span>${one.hasPassword && `, ${t("Password")}`}`;
  return one.hasPassword ? t("Password") : "–";
}

function Person({ one, isBusy, onRole, onToggle, onUnlink, onRemove }) {
  return html`<tr>
    <td><bdi>${nameOf(one)}</bdi>${one.isSelf && html` <span class="nowrap"><${Badge} kind="info">${t("You")}</${Badge}></span>`}</td><td><bdi>${one.email}</bdi></td>
    <td class="nowrap">${ROLES[one.role].name()}</td>
    <td><${Badge} kind=${one.enabled ? "good" : "off"}>${one.enabled ? t("Enabled") : t("Disabled")}</${Badge}></td>
    <td><${LoginMethod} one=${one} /></td>
    <td>${one.lastLogInAt ? html`<${Moment} at=${one.lastLogInAt} format=${ago} />` : t("Never")}</td><td><${Moment} at=${one.createdAt} format=${date} /></td>
    <td class="row-actions"><${RowMenu} label=${t("Actions for {name}", { name: nameOf(one) })}>
      <button type="button" onClick=${onRole}>${t("Change role")}</button>
      ${one.identity && html`<button type="button" onClick=${onUnlink}>${t("Unlink SSO")}</button>`}
      ${!one.isSelf && html`<button type="button" disabled=${isBusy} onClick=${onToggle}>${one.enabled ? t("Disable") : t("Enable")}</button><button type="button" class="danger" onClick=${onRemove}>${t("Remove")}</button>`}
    </${RowMenu}></td>
  </tr>`;
}

function People({ found }) {
  const [changed, setChanged] = useState(/** @type {any} */ (null));
  const [removed, setRemoved] = useState(/** @type {any} */ (null));
  const [unlinked, setUnlinked] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run, clear } = useAction();
  const onChanged = (person) => {
    setChanged(null);
    toast(t("Role changed"));
    // With another role, this list may no longer be accessible.
    if (person.isSelf) refreshSession().catch(() => {});
    else found.reload();
  };
  const toggle = (one) => run(async () => {
    await call("PUT", `/api/people/${one.id}`, { body: { enabled: !one.enabled } });
    found.reload();
  });
  const remove = () => run(async () => {
    await call("DELETE", `/api/people/${removed.id}`);
    setRemoved(null);
    toast(t("Person removed"));
    found.reload();
  });
  const unlink = () => run(async () => {
    await call("DELETE", `/api/people/${unlinked.id}/identity`);
    setUnlinked(null);
    toast(t("Single sign-on unlinked"));
    found.reload();
  });
  return html`${!removed && !unlinked && html`<${FormFault} failure=${failure} />`}<${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${4} />`}
    ${found.data && html`<${Table} caption=${t("People")} columns=${[t("Name"), t("Email"), t("Role"), t("Status"), t("Login method"), t("Last login"), t("Joined"), { text: t("Actions"), isHidden: true }]}>
      ${found.data.map((one) => html`<${Person} key=${one.id} one=${one} isBusy=${isBusy} onRole=${() => setChanged(one)} onToggle=${() => toggle(one)} onUnlink=${() => { clear(); setUnlinked(one); }} onRemove=${() => { clear(); setRemoved(one); }} />`)}
    </${Table}>`}
    ${changed && html`<${ChangeRole} person=${changed} onClose=${() => setChanged(null)} onChanged=${onChanged} />`}
    ${unlinked && html`<${Confirm} title=${t("Unlink single sign-on for {name}?", { name: nameOf(unlinked) })} action=${t("Unlink SSO")} isBusy=${isBusy} failure=${failure} onYes=${unlink} onNo=${() => { clear(); setUnlinked(null); }}>${t("Their sessions end. Whoever next logs in through single sign-on with their verified email address gets their access.")}</${Confirm}>`}
    ${removed && html`<${Confirm} title=${t("Remove {name}?", { name: nameOf(removed) })} action=${t("Remove")} isBusy=${isBusy} failure=${failure} onYes=${remove} onNo=${() => { clear(); setRemoved(null); }}>${t("Their sessions end within a second. API keys stay valid: revoke any they know.")}</${Confirm}>`}`;
}

function PendingInvitations({ found }) {
  const [revoked, setRevoked] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run, clear } = useAction();
  const revoke = () => run(async () => {
    await call("DELETE", `/api/invitations/${revoked.id}`);
    setRevoked(null);
    toast(t("Invitation revoked"));
    found.reload();
  });
  const open = found.data ?? [];
  if (found.data && !open.length) return null;
  return html`<section><h2>${t("Pending invitations")}</h2>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${2} />`}
    ${open.length > 0 && html`<${Table} caption=${t("Pending invitations")} columns=${[t("Email"), t("Role"), t("Invited by"), t("Created"), t("Expires"), { text: t("Actions"), isHidden: true }]}>
      ${open.map((one) => html`<tr key=${one.id}><td><bdi>${one.email}</bdi></td><td class="nowrap">${ROLES[one.role].name()}</td><td><bdi>${one.invitedBy}</bdi></td><td><${Moment} at=${one.createdAt} /></td><td><${Moment} at=${one.expiresAt} /></td>
        <td class="row-actions"><button type="button" aria-label=${t("Revoke invitation for {name}", { name: one.email })} onClick=${() => { clear(); setRevoked(one); }}>${t("Revoke")}</button></td></tr>`)}
    </${Table}>`}
    ${revoked && html`<${Confirm} title=${t("Revoke invitation for {name}?", { name: revoked.email })} action=${t("Revoke")} isBusy=${isBusy} failure=${failure} onYes=${revoke} onNo=${() => setRevoked(null)}>${t("Its link stops working.")}</${Confirm}>`}
  </section>`;
}

function ForAdministrators() {
  const people = useLoad((abort) => get("/api/people", {}, abort).then((answer) => answer.people), ["people"]);
  const invitations = useLoad((abort) => get("/api/invitations", {}, abort).then((answer) => answer.invitations), ["invitations"]);
  const [isInviting, setInviting] = useState(false);
  const [created, setCreated] = useState(/** @type {any} */ (null));
  const onCreated = (answer) => {
    setInviting(false);
    setCreated(answer);
    invitations.reload();
  };
  return html`<${Head} title=${t("People")} note=${t("People who can log in to this account. Changes take effect within a second.")}><button type="button" class="main" onClick=${() => setInviting(true)}>${t("Invite person")}</button></${Head}>
    <${People} found=${people} />
    ${isKnown(people) && html`<${PendingInvitations} found=${invitations} />`}
    ${isInviting && html`<${Invite} onClose=${() => setInviting(false)} onCreated=${onCreated} />`}
    ${created && html`<${LinkShownOnce} created=${created} onClose=${() => setCreated(null)} />`}`;
}

export function PeoplePage() {
  if (useMay(ADMINISTRATOR)) return html`<${ForAdministrators} />`;
  return html`<${Head} title=${t("People")} /><${Empty} title=${t("Only administrators can see this page")} />`;
}
