/** @file The notifications of an alert: rows of a form, each with its test. */

import { html, useMemo, useState } from "./html.js";
import { call, get } from "./api.js";
import { errorOf, outcomeOf } from "./deliveries.js";
import { useAction, useLoad } from "./load.js";
import { Link } from "./router.js";
import { Badge, Field } from "./ui.js";
import { t } from "./words.js";

/** @typedef {{key: number, type: string, target: string, id?: string, position?: number}} Row `position`: in the stored alert, until it is edited */

/** Which addresses requests can be sent to. */
export const networksHint = () => html`${t("http or https. Private network addresses must be allowed by your server administrator:")} <code class="nowrap">PLATESTREAM_WEBHOOK_ALLOWED_NETWORKS</code>`;

/** Returns a field error as a sentence about the URL. @param {string} url @param {string | undefined} fault */
export const urlFault = (url, fault) => (fault && /^\p{Ll}/u.test(fault) ? `${url.trim()} ${fault}.` : fault);

/** @type {Record<string, {name: () => string, add: () => string, hint: () => unknown, input: Record<string, string>}>} */
const TYPES = {
  email: { name: () => t("Email"), add: () => t("Add email"), hint: () => t("Separate several addresses with commas."), input: { inputmode: "email", placeholder: "guard@example.com" } },
  webhook: { name: () => t("HTTP endpoint"), add: () => t("Add HTTP endpoint"), hint: () => html`${networksHint()}. <${Link} href="/alerts">${t("Requests are signed with the account's notification secret.")}</${Link}>`, input: { inputmode: "url", placeholder: "https://…" } },
  apprise: { name: () => t("Push, chat or SMS (Apprise URL)"), add: () => t("Add push, chat or SMS"), hint: () => t("For example ntfys://ntfy.sh/my-topic or tgram://token/chat. Secrets are hidden once saved."), input: { inputmode: "url", placeholder: "ntfys://ntfy.sh/my-topic" } },
};

let keys = 0;

/** @param {any} one a notification */
export const targetOf = (one) => (one.type === "email" ? one.addresses.join(", ") : one.url);

/** Returns the rows of an alert's notifications. @param {any[]} notifications @returns {Row[]} */
export const rowsOf = (notifications) => notifications.map((one, position) => ({ key: ++keys, type: one.type, target: targetOf(one), id: one.id, position }));

/** @param {Row[]} rows */
const filled = (rows) => rows.filter((row) => row.target.trim());

/** Returns the notifications of the request body. @param {Row[]} rows */
export function notificationsOf(rows) {
  return filled(rows).map(({ type, target, id }) => {
    if (type === "email") return { type, addresses: [...new Set(target.split(/[\s,;]+/).filter(Boolean))] };
    return { type, url: target.trim(), ...(id && { id }) };
  });
}

/** Returns the error of a row, by its index in the request body. */
function faultOf(row, rows, failure) {
  const place = `notifications.${filled(rows).indexOf(row)}`;
  const fault = failure?.fields.find((field) => field.path === place || field.path.startsWith(`${place}.`))?.message;
  return row.type === "email" ? fault : urlFault(row.target, fault);
}

/** Sends a test to a stored notification, and shows the result. */
function SendTest({ alertId, row, onSent }) {
  const [ids, setIds] = useState(/** @type {string[]} */ ([]));
  const { isBusy, failure, run } = useAction();
  const [isDone, setDone] = useState(true);
  const found = useLoad(async (abort) => {
    if (!ids.length) return [];
    const { deliveries } = await get(`/api/alertas/${alertId}/deliveries`, {}, abort);
    const sent = deliveries.filter((one) => ids.includes(one.id));
    // A delivery is listed once it has been attempted.
    setDone(sent.length === ids.length);
    return sent;
  }, [ids], { everySeconds: isDone ? 0 : 2 });
  const start = () => run(async () => {
    const answer = await call("POST", `/api/alertas/${alertId}/notifications/test`, { body: { notification: row.position } });
    setDone(false);
    setIds(answer.deliveries.map((one) => one.id));
    onSent();
  });
  const sent = found.data ?? [];
  return html`<button type="button" disabled=${isBusy || !alertId || row.position === undefined} aria-label=${t("Send test to {target}", { target: row.target })} onClick=${start}>${t("Send test")}</button>
    <span class="row-result" role="status">${failure ? html`<span class="fault">${failure.message}</span>` : ids.length > sent.length && html`<${Badge} kind="wait">${t("Sending…")}</${Badge}>`}
      ${sent.map((one) => html`<span key=${one.id}><${Badge} kind=${outcomeOf(one)[0]}>${outcomeOf(one)[1]}</${Badge}> ${one.lastError && html`<bdi class="note">${errorOf(one.lastError)}</bdi>`}</span>`)}</span>`;
}

/** @param {{rows: Row[], onRows: (rows: Row[]) => void, failure: any, alertId?: string, sendsEmail: boolean, mayChange: boolean, onSent: () => void}} props */
export function NotificationRows({ rows, onRows, failure, alertId, sendsEmail, mayChange, onSent }) {
  const edit = (row) => (event) => onRows(rows.map((one) => (one === row ? { ...row, target: event.currentTarget.value, position: undefined } : one)));
  // The errors are about the rows that were sent, not about later input.
  const faults = useMemo(() => new Map(rows.map((row) => [row.key, faultOf(row, rows, failure)])), [failure]);
  // The API shows the type of a stored service only.
  const isHidden = (row) => row.type === "apprise" && row.position !== undefined;
  return html`${rows.map((row) => html`<div key=${row.key} class="notification">
      <${Field} label=${TYPES[row.type].name()} fault=${faults.get(row.key)} hint=${TYPES[row.type].hint()}>
        ${(ids) => html`<input ...${ids} type="text" spellcheck=${false} autocomplete="off" ...${TYPES[row.type].input} readonly=${isHidden(row)} value=${row.target} onInput=${edit(row)} />`}
      </${Field}>
      ${mayChange && html`<div class="notification-actions"><${SendTest} alertId=${alertId} row=${row} onSent=${onSent} />
        <button type="button" aria-label=${t("Remove {name}", { name: row.target })} onClick=${() => onRows(rows.filter((one) => one !== row))}>${t("Remove")}</button></div>`}
    </div>`)}
    ${!rows.length && html`<p class="note">${t("No notifications. Triggers are only recorded.")}</p>`}
    ${!sendsEmail && rows.some((row) => row.type === "email" && row.target.trim()) && html`<p class="fault" role="status">${t("Email isn't configured on this server, so these recipients get nothing. Your server administrator must set PLATESTREAM_SMTP_HOST.")}</p>`}
    ${mayChange && html`<div class="actions">${Object.entries(TYPES).map(([type, { add }]) => html`<button key=${type} type="button" onClick=${() => onRows([...rows, { key: ++keys, type, target: "" }])}>${add()}</button>`)}</div>`}
    ${mayChange && rows.some((row) => row.position === undefined) && html`<p class="hint">${t("Save the alert to send tests to new recipients.")}</p>`}`;
}
