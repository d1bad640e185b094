/** @file Zones and the minimum plate width, drawn on the camera's image. */

import { Fragment, html, useRef, useState } from "./html.js";
import { number } from "./format.js";
import { useSnapshot } from "./wall.js";
import { Empty, Field } from "./ui.js";
import { t } from "./words.js";

const MAX_ZONES = 32;
const MAX_POINTS = 64;
const STEP = 0.005;
/** Width of a plate divided by its height. */
const PLATE_ASPECT = 4.7;

const KINDS = { include: () => t("Include"), exclude: () => t("Exclude") };

/** @param {number} value */
const within = (value) => Math.min(1, Math.max(0, Math.round(value * 10000) / 10000));

/** @param {{camera: any, zones: any[], minPlateWidth: number, onZones: (zones: any[]) => void, onMinPlateWidth: (width: number) => void, fault?: string}} props */
export function ZoneEditor({ camera, zones, minPlateWidth, onZones, onMinPlateWidth, fault }) {
  const image = useSnapshot(camera, 5);
  const [chosen, setChosen] = useState(0);
  const [draft, setDraft] = useState(/** @type {{kind: string, points: any[]} | null} */ (null));
  const sheet = useRef(/** @type {SVGSVGElement | null} */ (null));
  const dragged = useRef(/** @type {{zone: number, point: number} | null} */ (null));
  const [width, height] = [camera.frameWidth ?? 1920, camera.frameHeight ?? 1080];

  const at = (event) => {
    const frame = /** @type {SVGSVGElement} */ (sheet.current).getBoundingClientRect();
    return { x: within((event.clientX - frame.left) / frame.width), y: within((event.clientY - frame.top) / frame.height) };
  };
  const movePoint = (zone, point, to) =>
    onZones(zones.map((one, index) => (index === zone ? { ...one, points: one.points.map((old, place) => (place === point ? to : old)) } : one)));
  const draw = (event) => {
    if (!draft || event.target.closest?.(".handle")) return;
    if (draft.points.length < MAX_POINTS) setDraft({ ...draft, points: [...draft.points, at(event)] });
  };
  const finish = () => {
    if (draft && draft.points.length >= 3) {
      onZones([...zones, draft]);
      setChosen(zones.length);
    }
    setDraft(null);
  };
  const drag = (event) => {
    if (dragged.current) movePoint(dragged.current.zone, dragged.current.point, at(event));
  };
  const push = (event, zone, point) => {
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    const old = zones[zone].points[point];
    if (x || y) {
      event.preventDefault();
      const step = event.shiftKey ? 10 * STEP : STEP;
      movePoint(zone, point, { x: within(old.x + x * step), y: within(old.y + y * step) });
    } else if (event.key === "Delete" && zones[zone].points.length > 3) {
      onZones(zones.map((one, index) => (index === zone ? { ...one, points: one.points.filter((_, place) => place !== point) } : one)));
    }
  };
  // People without a pointer start with a rectangle in the centre and move its corners with the arrow keys.
  const addRectangle = (kind) => {
    onZones([...zones, { kind, points: [{ x: 0.25, y: 0.25 }, { x: 0.75, y: 0.25 }, { x: 0.75, y: 0.75 }, { x: 0.25, y: 0.75 }] }]);
    setChosen(zones.length);
  };
  const points = (zone) => zone.points.map((point) => `${point.x * width},${point.y * height}`).join(" ");
  const handle = Math.max(width, height) / 110;
  if (!camera.frameWidth) return html`<${Empty} title=${t("No image yet")}>${t("You can draw zones once the camera has sent its first frame.")}</${Empty}>`;
  return html`<div class="zones">
    <div class="zone-sheet" style=${{ aspectRatio: `${width} / ${height}` }}>
      ${image && html`<img src=${image} alt=${t("Latest snapshot from {camera}", { camera: camera.name })} />`}
      <svg ref=${sheet} class=${draft ? "drawing" : ""} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${t("Zones on the camera image")}
        onPointerDown=${draw} onPointerMove=${drag} onPointerUp=${() => (dragged.current = null)} onPointerLeave=${() => (dragged.current = null)} onDblClick=${finish}>
        ${zones.map((zone, index) => html`<${Fragment} key=${index}>
          <polygon class=${`zone ${zone.kind}${index === chosen ? " chosen" : ""}`} points=${points(zone)} onPointerDown=${() => !draft && setChosen(index)} />
          ${index === chosen && !draft && zone.points.map((point, place) => html`<circle key=${place} class="handle" cx=${point.x * width} cy=${point.y * height} r=${handle} tabindex="0" role="button"
            aria-label=${t("Corner {n} of zone {zone}. Arrow keys move it, Delete removes it.", { n: place + 1, zone: index + 1 })}
            onKeyDown=${(event) => push(event, index, place)}
            onPointerDown=${(event) => { event.stopPropagation(); event.currentTarget.setPointerCapture?.(event.pointerId); dragged.current = { zone: index, point: place }; }}
            onPointerMove=${drag} onPointerUp=${() => (dragged.current = null)} />`)}
        </${Fragment}>`)}
        ${draft && html`<polyline class=${`zone ${draft.kind} draft`} points=${points(draft)} />${draft.points.map((point, place) => html`<circle key=${place} class="corner" cx=${point.x * width} cy=${point.y * height} r=${handle * 0.7} />`)}`}
        ${minPlateWidth > 0 && html`<g class="smallest" transform=${`translate(${width * 0.02} ${height * 0.96 - minPlateWidth / PLATE_ASPECT})`}><rect width=${minPlateWidth} height=${minPlateWidth / PLATE_ASPECT} rx="2" /></g>`}
      </svg>
    </div>
    <div class="zone-tools">
      ${draft
        ? html`<p class="note">${t("Click to place at least 3 corners")} (${number(draft.points.length)})</p>
          <div class="actions"><button type="button" class="main" disabled=${draft.points.length < 3} onClick=${finish}>${t("Finish zone")}</button><button type="button" onClick=${() => setDraft(null)}>${t("Cancel")}</button></div>`
        : html`<div class="actions">
            <button type="button" disabled=${zones.length >= MAX_ZONES} onClick=${() => setDraft({ kind: "include", points: [] })}>${t("Draw include zone")}</button>
            <button type="button" disabled=${zones.length >= MAX_ZONES} onClick=${() => setDraft({ kind: "exclude", points: [] })}>${t("Draw exclude zone")}</button>
            <button type="button" disabled=${zones.length >= MAX_ZONES} onClick=${() => addRectangle("include")}>${t("Add rectangle")}</button>
          </div>`}
      ${fault && html`<p class="fault">${fault}</p>`}
      ${zones.length === 0 && !draft && html`<p class="note">${t("No zones. Plates are read in the whole image.")}</p>`}
      <ul class="zone-list">${zones.map((zone, index) => html`<li key=${index} class=${index === chosen ? "chosen" : ""}>
        <button type="button" class="plain" aria-pressed=${index === chosen ? "true" : "false"} onClick=${() => setChosen(index)}>${t("Zone {n}", { n: index + 1 })}</button>
        <select aria-label=${t("Type of zone {n}", { n: index + 1 })} value=${zone.kind} onChange=${(event) => onZones(zones.map((one, place) => (place === index ? { ...one, kind: event.currentTarget.value } : one)))}>
          ${Object.entries(KINDS).map(([kind, text]) => html`<option key=${kind} value=${kind} selected=${kind === zone.kind}>${text()}</option>`)}
        </select>
        <button type="button" class="plain" onClick=${() => onZones(zones.filter((_, place) => place !== index))}>${t("Remove")}</button>
      </li>`)}</ul>
      <${Field} label=${t("Minimum plate width (px)")} hint=${t("Narrower plates are ignored, and always those under 32 px. The yellow bar shows this width on the image. 60 px or more reads well.")}>
        ${(ids) => html`<input ...${ids} type="number" min="0" max="10000" step="1" value=${minPlateWidth} onInput=${(event) => onMinPlateWidth(Math.max(0, Math.round(Number(event.currentTarget.value) || 0)))} />`}
      </${Field}>
      <input class="slider" type="range" min="0" max="400" step="5" aria-label=${t("Minimum plate width (px)")} value=${minPlateWidth} onInput=${(event) => onMinPlateWidth(Number(event.currentTarget.value))} />
    </div>
  </div>`;
}
