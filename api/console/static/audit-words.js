/** @file The words for entries of the audit log. */

import { ERASED } from "./erasure.js";
import { MODES } from "./filters.js";
import { dateTime, percent } from "./format.js";
import { REASONS } from "./pages/account.js";
import { ROLES } from "./roles.js";
import { scheduleText } from "./schedule.js";
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
  "camera.tried": () => t("Camera stream tested or cameras searched"),
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

/** Names of changed fields and of parameters. @type {Record<string, () => string>} */
const FIELDS = {
  ...ERASED,
  cameraId: () => t("Camera"),
  cameraIds: () => t("Selected cameras"),
  cameraScope: () => t("Cameras"),
  cooldownMinutes: () => t("Cooldown (minutes)"),
  cooldownScope: () => t("Cooldown applies to"),
  credits: () => t("Credits"),
  description: () => t("Description"),
  disabledReason: () => t("Reason"),
  early: () => t("Trigger early, before the vehicle has left"),
  email: () => t("Email"),
  enabled: () => t("Enabled"),
  events: () => t("Events"),
  expiresAt: () => t("Expires"),
  format: () => t("Format"),
  from: () => t("From"),
  headers: () => t("Custom headers"),
  identifier: () => t("Identifier"),
  location: () => t("Location"),
  match: () => t("Match mode"),
  matchTolerance: () => t("Misread tolerance"),
  minConfidence: () => t("Minimum confidence"),
  minPlateWidth: () => t("Minimum plate width (px)"),
  name: () => t("Name"),
  notifications: () => t("Notifications"),
  notificationSecret: () => t("Alert notification secret"),
  password: () => t("Password"),
  plate: () => t("Plate"),
  plateMatchMode: () => t("Trigger on"),
  plateNames: () => t("Names of plates"),
  plates: () => t("Plates"),
  prefix: () => t("Prefix"),
  reading: () => t("Plate"),
  reason: () => t("Reason"),
  region: () => t("Country or region"),
  role: () => t("Role"),
  rtspUrl: () => t("Stream URL"),
  sampleFps: () => t("Sampling rate (fps)"),
  schedule: () => t("Schedule"),
  scheduleEnabled: () => t("Limit to a schedule"),
  scopes: () => t("Scopes"),
  secret: () => t("Signing secret"),
  timezone: () => t("Time zone"),
  to: () => t("To"),
  url: () => t("URL"),
  zones: () => t("Detection area"),
};

/** Texts of values, by field. @type {Record<string, (value: any) => string | undefined>} */
const VALUES = {
  cameraScope: (value) => (value === "all" ? t("All cameras and Image API") : t("Selected cameras")),
  cooldownScope: (value) => ({ alert: t("Whole alert"), plate: t("Each plate"), plate_camera: t("Each plate at each camera") })[value],
  match: (value) => MODES.find(([mode]) => mode === value)?.[1](),
  minConfidence: (value) => percent(Number(value)),
  plateMatchMode: (value) => ({ specific: t("Listed plates"), allowlist: t("Any plate not on the list"), any: t("Any plate") })[value],
  reason: (value) => REASONS[value]?.(),
  role: (value) => ROLES[value]?.name(),
  schedule: (value) => scheduleText({ scheduleEnabled: true, schedule: value }),
  zones: (value) => tn(value.length, "{n} zone", "{n} zones"),
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

/** Returns the name of a field or parameter. @param {string} field */
export const fieldText = (field) => (Object.hasOwn(FIELDS, field) ? FIELDS[field]() : field);

/**
 * Returns a field's value as short text.
 * @param {string} field
 * @param {unknown} value
 * @param {Record<string, string>} names of the account's objects, by ID
 * @returns {string}
 */
export function valueText(field, value, names) {
  if (Array.isArray(value) && !value.length) return t("(empty)");
  const known = value && Object.hasOwn(VALUES, field) ? VALUES[field](value) : "";
  if (known) return known;
  if (Array.isArray(value)) return value.map((one) => valueText(field, one, names)).join(", ");
  if (typeof value === "string" && Object.hasOwn(names, value)) return names[value];
  if (typeof value === "string" && INSTANT.test(value)) return dateTime(value);
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (value === undefined || value === null || value === "") return t("(empty)");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
