/** @file Entries of the audit log as sentences. */

import { number } from "./format.js";
import { t, tn } from "./words.js";

/** @typedef {import("#api").components["schemas"]["AuditEntryBody"]} Entry */

/** Groups of actions, by the first word of the action. @type {[string, () => string][]} */
export const KINDS = [
  ["recognitions", () => t("Searches, exports and streams")],
  ["recognition", () => t("Recognitions viewed")],
  ["correction", () => t("Corrections")],
  ["analytics", () => t("Analytics")],
  ["camera", () => t("Cameras")],
  ["alert", () => t("Alerts")],
  ["webhook", () => t("Webhooks")],
  ["delivery", () => t("Deliveries")],
  ["key", () => t("API keys")],
  ["person", () => t("People")],
  ["invitation", () => t("Invitations")],
  ["session", () => t("Sessions")],
  ["password", () => t("Failed password logins")],
  ["provider", () => t("Failed single sign-on logins")],
  ["account", () => t("Account")],
  ["plate", () => t("Erasures")],
  ["audit", () => t("Audit log")],
];

/** @type {Record<string, (names: {who: string, what: string, fields: string, n: number}) => string>} */
const SENTENCES = {
  "account.created": (names) => t("{who} created the account", names),
  "account.updated": (names) => t("{who} updated the account: {fields}", names),
  "account.restored": (names) => t("{who} restored the account from a backup", names),
  "key.created": (names) => t("{who} created API key {what}", names),
  "key.updated": (names) => t("{who} updated API key {what}: {fields}", names),
  "key.revoked": (names) => t("{who} revoked API key {what}", names),
  "person.joined": (names) => t("{what} joined the account", names),
  "person.updated": (names) => t("{who} updated person {what}: {fields}", names),
  "person.removed": (names) => t("{who} removed {what} from the account", names),
  "invitation.created": (names) => t("{who} invited {what}", names),
  "invitation.revoked": (names) => t("{who} revoked the invitation for {what}", names),
  "session.started": (names) => t("{who} logged in", names),
  "session.ended": (names) => t("{who} ended a session", names),
  "password.refused": (names) => t("{who} entered a wrong password for {what}", names),
  "provider.refused": (names) => t("{who} was denied single sign-on login as {what}", names),
  "camera.created": (names) => t("{who} added camera {what}", names),
  "camera.updated": (names) => t("{who} updated camera {what}: {fields}", names),
  "camera.deleted": (names) => t("{who} deleted camera {what}", names),
  "camera.tried": (names) => t("{who} tested a camera stream", names),
  "alert.created": (names) => t("{who} created alert {what}", names),
  "alert.updated": (names) => t("{who} updated alert {what}: {fields}", names),
  "alert.deleted": (names) => t("{who} deleted alert {what}", names),
  "alert.tried": (names) => t("{who} tested an alert on past recognitions", names),
  "alert.triggers_viewed": (names) => t("{who} viewed the triggers of alert {what}", names),
  "alert.tested": (names) => t("{who} sent a test notification for alert {what}", names),
  "webhook.created": (names) => t("{who} created webhook {what}", names),
  "webhook.updated": (names) => t("{who} updated webhook {what}: {fields}", names),
  "webhook.deleted": (names) => t("{who} deleted webhook {what}", names),
  "webhook.tested": (names) => t("{who} sent a test to webhook {what}", names),
  "delivery.repeated": (names) => t("{who} redelivered an event", names),
  "events.replayed": (names) => t("{who} replayed past events to webhook {what} ({count})", counted(names)),
  "correction.written": (names) => t("{who} corrected a recognition", names),
  "correction.removed": (names) => t("{who} removed a correction", names),
  "credits.granted": (names) => t("{who} adjusted the credits", names),
  "recognitions.searched": (names) => t("{who} searched recognitions", names),
  "recognitions.exported": (names) => t("{who} exported recognitions", names),
  "recognitions.streamed": (names) => t("{who} streamed new recognitions", names),
  "recognition.viewed": (names) => t("{who} viewed a recognition", names),
  "recognition.photo_viewed": (names) => t("{who} viewed a photo", names),
  "corrections.searched": (names) => t("{who} searched corrections", names),
  "analytics.viewed": (names) => t("{who} viewed analytics", names),
  "plate.erasure_asked": (names) => t("{who} requested the erasure of a plate", names),
  "plate.erased": (names) => t("{who} erased a plate", names),
  "audit.read": (names) => t("{who} viewed the audit log", names),
  "audit.incomplete": ({ n }) => tn(n, "One more action couldn't be recorded", "{n} more actions couldn't be recorded"),
};

/** @type {Record<string, (name: string) => string>} */
const ACTORS = {
  person: (name) => name,
  key: (name) => t("API key {name}", { name }),
  nobody: () => t("Someone"),
  command: (name) => t("Server administrator ({name})", { name }),
  service: () => t("System"),
  database: () => t("Someone with database access"),
};

/** @type {Record<string, string>} */
const PLACES = { camera: "cameras", alert: "alerts", webhook: "webhooks", recognition: "recognitions", correction: "recognitions" };

/** @param {{n: number}} names */
function counted(names) {
  return { ...names, count: number(names.n) };
}

/** Returns an entry as a sentence. @param {Entry} entry */
export function sentence(entry) {
  const who = (ACTORS[entry.actor.kind] ?? ((name) => name))(entry.actor.name ?? t("(unnamed)"));
  const fields = entry.changes.map((change) => change.field).join(", ");
  const names = { who, what: entry.subject?.name ?? entry.subject?.id?.slice(0, 8) ?? t("(unnamed)"), fields, n: Number(entry.parameters.count ?? 0) };
  const format = Object.hasOwn(SENTENCES, entry.action) ? SENTENCES[entry.action] : () => `${who}: ${entry.action}`;
  return format(names);
}

/** Returns the page of an entry's subject, or null if it has none. @param {Entry} entry */
export function pathOf({ subject, action }) {
  if (!subject?.id || !(subject.kind in PLACES) || /\.(deleted|revoked)$/.test(action)) return null;
  return `/${PLACES[subject.kind]}/${subject.id}`;
}

/** Returns a field's value as short text. @param {unknown} value */
export function valueText(value) {
  if (Array.isArray(value)) return value.length ? value.map(valueText).join(", ") : t("(empty)");
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (value === undefined || value === null || value === "") return t("(empty)");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
