/** @file The words for entries of the audit log. */

import { dateTime } from "./format.js";
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

/** @type {Record<string, (n: number) => string>} */
const ACTIONS = {
  "account.created": () => t("Account created"),
  "account.updated": () => t("Account updated"),
  "account.restored": () => t("Account restored from a backup"),
  "key.created": () => t("API key created"),
  "key.updated": () => t("API key updated"),
  "key.revoked": () => t("API key revoked"),
  "person.joined": () => t("Person joined"),
  "person.updated": () => t("Person updated"),
  "person.removed": () => t("Person removed"),
  "invitation.created": () => t("Person invited"),
  "invitation.revoked": () => t("Invitation revoked"),
  "session.started": () => t("Logged in"),
  "session.ended": () => t("Session ended"),
  "password.refused": () => t("Wrong password"),
  "provider.refused": () => t("Single sign-on denied"),
  "camera.created": () => t("Camera added"),
  "camera.updated": () => t("Camera updated"),
  "camera.deleted": () => t("Camera deleted"),
  "camera.tried": () => t("Camera stream tested"),
  "alert.created": () => t("Alert created"),
  "alert.updated": () => t("Alert updated"),
  "alert.deleted": () => t("Alert deleted"),
  "alert.tried": () => t("Alert tested on past recognitions"),
  "alert.triggers_viewed": () => t("Triggers viewed"),
  "alert.tested": () => t("Test notification sent"),
  "webhook.created": () => t("Webhook created"),
  "webhook.updated": () => t("Webhook updated"),
  "webhook.deleted": () => t("Webhook deleted"),
  "webhook.tested": () => t("Test event sent"),
  "delivery.repeated": () => t("Event redelivered"),
  "correction.written": () => t("Recognition corrected"),
  "correction.removed": () => t("Correction removed"),
  "credits.granted": () => t("Credits adjusted"),
  "recognitions.searched": () => t("Recognitions searched"),
  "recognitions.exported": () => t("Recognitions exported"),
  "recognitions.streamed": () => t("New recognitions streamed"),
  "recognition.viewed": () => t("Recognition viewed"),
  "recognition.photo_viewed": () => t("Photo viewed"),
  "corrections.searched": () => t("Corrections searched"),
  "analytics.viewed": () => t("Analytics viewed"),
  "plate.erasure_asked": () => t("Erasure of a plate requested"),
  "plate.erased": () => t("Plate erased"),
  "audit.read": () => t("Audit log viewed"),
  "events.replayed": (n) => tn(n, "{n} past event replayed", "{n} past events replayed"),
  "audit.incomplete": (n) => tn(n, "One more action couldn't be recorded", "{n} more actions couldn't be recorded"),
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

/** A time in ISO 8601. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** @type {Record<string, string>} */
const PLACES = { camera: "cameras", alert: "alerts", webhook: "webhooks", recognition: "recognitions", correction: "recognitions" };

/** Returns the actor as text. @param {Entry} entry */
export function actorText({ actor }) {
  return (ACTORS[actor.kind] ?? ((name) => name))(actor.name ?? t("(unnamed)"));
}

/** Returns the action as text. @param {Entry} entry */
export function actionText({ action, parameters }) {
  return Object.hasOwn(ACTIONS, action) ? ACTIONS[action](Number(parameters.count ?? 0)) : action;
}

/**
 * Returns the subject as text, or "" if the entry has no subject with a name.
 * @param {Entry} entry
 * @param {Record<string, string>} names of the account's objects, by ID
 */
export function objectText({ subject, changes }, names) {
  if (!subject || subject.kind === "session") return "";
  if (subject.kind === "recognition" || subject.kind === "correction") return t("Recognition");
  const changed = changes.find((change) => change.field === "name");
  const name = subject.name ?? names[subject.id ?? ""] ?? changed?.after ?? changed?.before;
  return name ? String(name) : (subject.id?.slice(0, 8) ?? "");
}

/** Returns the page of an entry's subject, or null if the subject has no page. @param {Entry} entry */
export function pathOf({ subject, action }) {
  if (!subject?.id || !(subject.kind in PLACES) || /\.(deleted|revoked)$/.test(action)) return null;
  return `/${PLACES[subject.kind]}/${subject.id}`;
}

/**
 * Returns a field's value as short text.
 * @param {unknown} value
 * @param {Record<string, string>} names of the account's objects, by ID
 * @returns {string}
 */
export function valueText(value, names) {
  if (Array.isArray(value)) return value.length ? value.map((one) => valueText(one, names)).join(", ") : t("(empty)");
  if (typeof value === "string" && Object.hasOwn(names, value)) return names[value];
  if (typeof value === "string" && INSTANT.test(value)) return dateTime(value);
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (value === undefined || value === null || value === "") return t("(empty)");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
