/** @file The account: password, preferences of this browser, sessions, time zone, credits and erasures. */

import { html, useState } from "../html.js";
import { call, get } from "../api.js";
import { Erasures } from "../erasure.js";
import { date, number } from "../format.js";
import { useAction, useLoad } from "../load.js";
import { ROLES } from "../roles.js";
import { TimeZoneField } from "../time-zones.js";
import { ADMINISTRATOR, refreshSession, session, useMay } from "../session.js";
import { shortcuts, theme } from "../settings.js";
import { useSignal } from "../signal.js";
import { Check, Fault, FormFault, Head, Moment, SelectField, Table, TextField, Waiting, toast } from "../ui.js";
import { chooseLanguage, language, languages, t, tn } from "../words.js";

const KINDS = { grant: () => t("Granted"), debit: () => t("Used"), refund: () => t("Refunded") };

/** Stored reasons of the service's own entries; others were typed by a server administrator. @type {Record<string, () => string>} */
export const REASONS = {
  "image recognition": () => t("Image API request"),
  "first credits": () => t("Initial credits"),
  "initial credits": () => t("Initial credits"),
  "camera subscription": () => t("Camera subscription"),
  "camera subscription, unused share": () => t("Camera subscription: refund for unused days"),
  "camera subscription: refund for unused days": () => t("Camera subscription: refund for unused days"),
};

/** Returns the sum of the entries of each day, newest first. @param {{createdAt: string, delta: number}[]} ledger @returns {[string, number][]} */
function daysOf(ledger) {
  const days = new Map();
  for (const { createdAt, delta } of ledger) days.set(date(createdAt), (days.get(date(createdAt)) ?? 0) + delta);
  return [...days];
}

/** @param {number} delta */
const signed = (delta) => (delta > 0 ? "+" : "") + number(delta);

function Credits() {
  const found = useLoad((abort) => get("/api/credits", {}, abort), ["credits"]);
  const [isWhole, setWhole] = useState(false);
  const ledger = found.data?.ledger ?? [];
  return html`<section class="panel"><h2>${t("Credits")}</h2>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${3} />`}
    ${found.data && html`<p class="figure">${number(found.data.credits)}</p>
      <p class="note">${t("Each Image API request uses 1 credit. Your server administrator can add more.")}</p>
      ${ledger.length > 0 && html`<p class="note">${tn(ledger.length, "Last change", "Last {n} changes")}</p>
        ${isWhole ? html`<${Table} caption=${t("Credit history")} columns=${[t("Time"), t("Type"), { text: t("Change"), kind: "number" }, { text: t("Balance"), kind: "number" }, t("Reason")]}>
            ${ledger.map((entry, at) => html`<tr key=${at}><td><${Moment} at=${entry.createdAt} /></td><td>${KINDS[entry.kind]?.() ?? entry.kind}</td><td class="number">${signed(entry.delta)}</td><td class="number">${number(entry.balance)}</td><td><bdi>${REASONS[entry.reason]?.() ?? entry.reason}</bdi></td></tr>`)}
          </${Table}>`
        : html`<${Table} caption=${t("Credits by day")} columns=${[t("Day"), { text: t("Change"), kind: "number" }]}>
            ${daysOf(ledger).map(([day, sum]) => html`<tr key=${day}><td>${day}</td><td class="number">${signed(sum)}</td></tr>`)}
          </${Table}>`}
        <div class="actions"><button type="button" onClick=${() => setWhole(!isWhole)}>${isWhole ? t("Hide history") : t("Show history")}</button></div>`}`}
  </section>`;
}

function Zone({ who }) {
  const [timezone, setTimezone] = useState(who.timezone);
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      await call("PUT", "/api/account", { body: { timezone } });
      await refreshSession();
      toast(t("Saved"));
    });
  };
  return html`<form class="panel" onSubmit=${submit}><h2>${t("Time zone")}</h2>
    <${TimeZoneField} label=${t("Time zone for analytics and new alerts")} value=${timezone} onValue=${setTimezone} fault=${failure?.fault("timezone")} />
    <p class="hint">${t("Times on other pages use your browser's time zone")} (${Intl.DateTimeFormat().resolvedOptions().timeZone})</p>
    <${FormFault} failure=${failure} shown=${["timezone"]} />
    <div class="actions"><button disabled=${isBusy || timezone === who.timezone}>${t("Save changes")}</button></div>
  </form>`;
}

function NoPassword() {
  return html`<section class="panel"><h2>${t("Password")}</h2><p>${t("You log in with single sign-on and have no password. Your server administrator can set one.")}</p></section>`;
}

function Password({ who }) {
  const [currentPassword, setCurrent] = useState("");
  const [newPassword, setPassword] = useState("");
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      await call("PUT", "/api/account", { body: { currentPassword, newPassword } });
      setCurrent("");
      setPassword("");
      toast(t("Password changed"));
    });
  };
  return html`<form class="panel" onSubmit=${submit}><h2>${t("Password")}</h2>
    <input type="email" hidden autocomplete="username" value=${who.person.email} readonly />
    <div class="fields"><${TextField} label=${t("Current password")} type="password" autocomplete="current-password" required value=${currentPassword} onValue=${setCurrent} fault=${failure?.fault("currentPassword")} />
    <${TextField} label=${t("New password")} type="password" autocomplete="new-password" required value=${newPassword} onValue=${setPassword} fault=${failure?.fault("newPassword")} /></div>
    <${FormFault} failure=${failure} shown=${["currentPassword", "newPassword"]} />
    <div class="actions"><button disabled=${isBusy}>${t("Change password")}</button></div>
  </form>`;
}

function Sessions({ who }) {
  const found = useLoad((abort) => get("/api/sessions", {}, abort).then((answer) => answer.sessions), ["sessions"]);
  const { isBusy, failure, run } = useAction();
  const end = (one) => run(async () => {
    await call("DELETE", `/api/sessions/${one.id}`);
    found.reload();
  });
  return html`<section class="panel"><h2>${t("Sessions")}</h2>
    <${Fault} failure=${found.failure} retry=${found.reload} /><${FormFault} failure=${failure} />
    ${found.data && html`<${Table} caption=${t("Sessions")} columns=${[t("Started"), t("Expires"), { text: t("Actions"), isHidden: true }]}>
      ${found.data.map((one) => html`<tr key=${one.id}><td><${Moment} at=${one.createdAt} /></td><td><${Moment} at=${one.expiresAt} /></td>
        <td class="row-actions">${one.isCurrent ? t("Current session") : html`<button type="button" disabled=${isBusy} onClick=${() => end(one)}>${t("End session")}</button>`}</td></tr>`)}
    </${Table}>`}
  </section>`;
}

function Browser() {
  const colours = useSignal(theme);
  const keys = useSignal(shortcuts);
  return html`<section class="panel"><h2>${t("Preferences for this browser")}</h2><div class="fields">
    <${SelectField} label=${t("Language")} value=${language} onValue=${chooseLanguage} options=${Object.entries(languages)} />
    <${SelectField} label=${t("Theme")} value=${colours} onValue=${(value) => (theme.value = value)} options=${[["auto", t("System")], ["light", t("Light")], ["dark", t("Dark")]]} />
    <${Check} label=${t("Keyboard shortcuts")} checked=${keys === "on"} onValue=${(isOn) => (shortcuts.value = isOn ? "on" : "off")} hint=${t("Press ? to see them.")} />
  </div></section>`;
}

export function AccountPage() {
  const who = useSignal(session);
  const isAdministrator = useMay(ADMINISTRATOR);
  const seesCredits = useMay("credits:read");
  const erases = useMay("erasures:write");
  const note = who && html`<bdi>${who.person.email}</bdi> · ${ROLES[who.person.role].name()}${who.email !== who.person.email && html` · ${t("account")} <bdi>${who.email}</bdi>`}`;
  return html`<${Head} title=${t("Account")} note=${note} />
    <div class="columns">
      <div>${who && (who.person.hasPassword === false ? html`<${NoPassword} />` : html`<${Password} who=${who} />`)}<${Browser} />${who && html`<${Sessions} who=${who} />`}</div>
      <div>${who && isAdministrator && html`<${Zone} key=${who.timezone} who=${who} />`}${seesCredits && html`<${Credits} />`}${erases && html`<${Erasures} />`}</div>
    </div>`;
}
