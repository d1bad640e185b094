/** @file The filters of the live view and search: plate, match mode, camera, confidence. */

import { html, useEffect, useState } from "./html.js";
import { get } from "./api.js";
import { fromLocalInput, toLocalInput } from "./format.js";
import { useLoad } from "./load.js";
import { goQuery } from "./router.js";
import { Field, SelectField, TextField } from "./ui.js";
import { t } from "./words.js";

/** @type {[string, () => string][]} */
export const MODES = [
  ["", () => t("Contains")],
  ["exact", () => t("Exact")],
  ["prefix", () => t("Starts with")],
  ["wildcard", () => t("Wildcard (* and ?)")],
  ["fuzzy", () => t("Similar (1 character off)")],
];

/** @typedef {import("#api").components["schemas"]["CameraBody"]} Camera */

/** The account's cameras. @returns {ReturnType<typeof useLoad<Camera[]>>} */
export function useCameras(options) {
  return useLoad((abort) => get("/api/cameras", {}, abort).then((answer) => answer.cameras), ["cameras"], options);
}

/** Returns the API query of a page's state. @param {Record<string, string>} query */
export function filterOf(query) {
  const { plate = "", match = "", cameraId = "", minConfidence = "" } = query;
  return { plate, match: plate ? match : "", cameraId, minConfidence };
}

/** A date and time, reported once it is complete. */
export function MomentField({ label, value, onValue }) {
  return html`<${Field} label=${label}>${(ids) => html`<input ...${ids} type="datetime-local" value=${toLocalInput(value)} onChange=${(event) => onValue(fromLocalInput(event.currentTarget.value))} />`}</${Field}>`;
}

/** The filter inputs. Typing updates the page's state after a short delay. */
export function FilterFields({ query, cameras }) {
  const [plate, setPlate] = useState(query.plate ?? "");
  useEffect(() => setPlate(query.plate ?? ""), [query.plate]);
  useEffect(() => {
    if (plate === (query.plate ?? "")) return undefined;
    const timer = setTimeout(() => goQuery({ plate, lastKey: "" }, { replace: true }), 350);
    return () => clearTimeout(timer);
  }, [plate]);
  const set = (name) => (value) => goQuery({ [name]: value, lastKey: "" }, { replace: true });
  const known = (cameras ?? []).map((camera) => [camera.id, camera.name]);
  const isUnknown = query.cameraId && !known.some(([id]) => id === query.cameraId);
  const minimum = Math.round(Number(query.minConfidence ?? 0) * 100);
  return html`
    <${TextField} label=${t("Plate")} type="search" name="plate" maxlength="64" autocomplete="off" spellcheck=${false} value=${plate} onValue=${setPlate} />
    <${SelectField} label=${t("Match mode")} value=${query.match ?? ""} onValue=${set("match")} options=${MODES.map(([mode, text]) => [mode, text()])} />
    <${SelectField} label=${t("Camera")} value=${query.cameraId ?? ""} onValue=${set("cameraId")}
      options=${[["", t("All cameras")], ...known, ...(isUnknown ? [[query.cameraId, t("Unknown camera")]] : [])]} />
    <${SelectField} label=${t("Minimum confidence")} value=${String(minimum)} onValue=${(value) => set("minConfidence")(value === "0" ? "" : String(Number(value) / 100))}
      options=${[...new Set([0, 50, 70, 80, 90, 95, minimum])].sort((a, b) => a - b).map((one) => [String(one), one ? t("{n}%", { n: one }) : t("Any")])} />`;
}
