/** @file Entries of the audit log as sentences. */

import { number } from "./format.js";
import { t, tn } from "./words.js";

/** @typedef {import("#api").components["schemas"]["AuditEntryBody"]} Entry */

/** Kinds of acts by the first word of their actions. @type {[string, () => string][]} */
export const KINDS = [
  ["recognitions", () => t("Searches, exports and streams")],
  ["recognition", () => t("Recognitions looked at")],
  ["correction", () => t("Corrections")],
  ["analytics", () => t("Analytics")],
  ["camera", () => t("Cameras")],
  ["alert", () => t("Alerts")],
  ["webhook", () => t("Webhooks")],
  ["delivery", () => t("Deliveries")],
  ["key", () => t("Keys")],
  ["person", () => t("People")],
  ["invitation", () => t("Invitations")],
  ["session", () => t("Sessions")],
  ["password", () => t("Wrong passwords")],
  ["provider", () => t("Refused by way of the provider")],
  ["account", () => t("The account")],
  ["plate", () => t("Erasures")],
  ["audit", () => t("The audit log")],
];

/** @type {Record<string, (names: {who: string, what: string, fields: string, n: number}) => string>} */
const SENTENCES = {
  "account.created": (names) => t("{who} made the account", names),
  "account.updated": (names) => t("{who} changed the account: {fields}", names),
  "account.restored": (names) => t("{who} restored the account from a backup", names),
  "key.created": (names) => t("{who} made the key {what}", names),
  "key.updated": (names) => t("{who} changed the key {what}: {fields}", names),
  "key.revoked": (names) => t("{who} revoked the key {what}", names),
  "person.joined": (names) => t("{what} joined the account", names),
  "person.updated": (names) => t("{who} changed the person {what}: {fields}", names),
  "person.removed": (names) => t("{who} removed the person {what}", names),
  "invitation.created": (names) => t("{who} invited {what}", names),
  "invitation.revoked": (names) => t("{who} took the invitation of {what} back", names),
  "session.started": (names) => t("{who} logged in", names),
  "session.ended": (names) => t("{who} ended a session", names),
  "password.refused": (names) => t("{who} gave a wrong password for {what}", names),
  "provider.refused": (names) => t("{who} came from the provider and was not let in as {what}", names),
  "camera.created": (names) => t("{who} added the camera {what}", names),
  "camera.updated": (names) => t("{who} changed the camera {what}: {fields}", names),
  "camera.deleted": (names) => t("{who} removed the camera {what}", names),
  "camera.tried": (names) => t("{who} tried the address of a camera", names),
  "alert.created": (names) => t("{who} made the alert {what}", names),
  "alert.updated": (names) => t("{who} changed the alert {what}: {fields}", names),
  "alert.deleted": (names) => t("{who} removed the alert {what}", names),
  "alert.tried": (names) => t("{who} tried an alert on past recognitions", names),
  "alert.triggers_viewed": (names) => t("{who} looked at what the alert {what} fired for", names),
  "alert.tested": (names) => t("{who} had the alert {what} send a test", names),
  "webhook.created": (names) => t("{who} made the webhook {what}", names),
  "webhook.updated": (names) => t("{who} changed the webhook {what}: {fields}", names),
  "webhook.deleted": (names) => t("{who} removed the webhook {what}", names),
  "webhook.tested": (names) => t("{who} had a test sent to the webhook {what}", names),
  "delivery.repeated": (names) => t("{who} had a delivery sent again", names),
  "events.replayed": (names) => t("{who} had {count} past events sent again to the webhook {what}", counted(names)),
  "correction.written": (names) => t("{who} corrected a recognition", names),
  "correction.removed": (names) => t("{who} took a correction back", names),
  "credits.granted": (names) => t("{who} changed the credits", names),
  "recognitions.searched": (names) => t("{who} searched recognitions", names),
  "recognitions.exported": (names) => t("{who} exported recognitions", names),
  "recognitions.streamed": (names) => t("{who} followed new recognitions", names),
  "recognition.viewed": (names) => t("{who} looked at a recognition", names),
  "recognition.photo_viewed": (names) => t("{who} looked at a photo", names),
  "corrections.searched": (names) => t("{who} searched corrections", names),
  "analytics.viewed": (names) => t("{who} looked at the figures", names),
  "plate.erasure_asked": (names) => t("{who} asked for a plate to be erased", names),
  "plate.erased": (names) => t("{who} erased a plate", names),
  "audit.read": (names) => t("{who} read the audit log", names),
  "audit.incomplete": ({ n }) => tn(n, "Of one more act there was no room for an entry", "Of {n} more acts there was no room for an entry"),
};

/** @type {Record<string, (name: string) => string>} */
const ACTORS = {
  person: (name) => name,
  key: (name) => t("The key {name}", { name }),
  nobody: () => t("Somebody"),
  command: (name) => t("The operator ({name})", { name }),
  service: () => t("The service"),
  database: () => t("Somebody at the database"),
};

/** @type {Record<string, string>} */
const PLACES = { camera: "cameras", alert: "alerts", webhook: "webhooks", recognition: "recognitions", correction: "recognitions" };

/** @param {{n: number}} names */
function counted(names) {
  return { ...names, count: number(names.n) };
}

/** What an entry tells, in a sentence. @param {Entry} entry */
export function sentence(entry) {
  const who = (ACTORS[entry.actor.kind] ?? ((name) => name))(entry.actor.name ?? "?");
  const fields = entry.changes.map((change) => change.field).join(", ");
  const names = { who, what: entry.subject?.name ?? entry.subject?.id?.slice(0, 8) ?? "?", fields, n: Number(entry.parameters.count ?? 0) };
  const say = Object.hasOwn(SENTENCES, entry.action) ? SENTENCES[entry.action] : () => `${who}: ${entry.action}`;
  return say(names);
}

/** The page of what an entry is about, where there is one. @param {Entry} entry */
export function placeOf({ subject, action }) {
  if (!subject?.id || !(subject.kind in PLACES) || /\.(deleted|revoked)$/.test(action)) return null;
  return `/${PLACES[subject.kind]}/${subject.id}`;
}

/** A value of a field in few words. @param {unknown} value */
export function valueText(value) {
  if (Array.isArray(value)) return value.length ? value.map(valueText).join(", ") : t("nothing");
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (value === undefined || value === null || value === "") return t("nothing");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
