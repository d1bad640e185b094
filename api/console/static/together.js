/** @file Other plates that passed the same cameras at about the same time. */

import { html, useState } from "./html.js";
import { get } from "./api.js";
import { cameraName, number } from "./format.js";
import { useAction } from "./load.js";
import { Link } from "./router.js";
import { FormFault, Moment, Plate, SelectField, Table } from "./ui.js";
import { t, tn } from "./words.js";

const CHECKED = 20;
const ROWS = 200;
const SHOWN = 50;

/** @typedef {import("#api").components["schemas"]["RecognitionBody"]} Recognition */
/** @typedef {{plate: string, passes: Recognition[]}} Companion */

/**
 * Searches around the newest recognitions of a plate, one after another.
 * @param {Recognition[]} rows newest first
 * @param {number} seconds before and after
 * @returns {Promise<{companions: Companion[], checked: number, isWhole: boolean}>} the most frequent first
 */
async function findCompanions(rows, seconds) {
  const own = new Set(rows.map((row) => row.plate));
  /** @type {Map<string, Map<string, Recognition>>} */
  const found = new Map();
  const newest = rows.slice(0, CHECKED);
  let isWhole = true;
  for (const { cameraId, timestamp } of newest) {
    const at = Date.parse(timestamp);
    const [from, to] = [at - seconds * 1000, at + seconds * 1000 + 1].map((one) => new Date(one).toISOString());
    const page = await get("/api/recognitions", { cameraId, from, to, limit: ROWS });
    isWhole &&= !page.nextKey;
    for (const other of page.recognitions) {
      if (own.has(other.plate)) continue;
      const passes = found.get(other.plate) ?? new Map();
      found.set(other.plate, passes.set(other.id, other));
    }
  }
  const companions = [...found].map(([plate, passes]) => ({ plate, passes: [...passes.values()].sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1)) }));
  companions.sort((a, b) => b.passes.length - a.passes.length || (a.passes[0].timestamp < b.passes[0].timestamp ? 1 : -1));
  return { companions, checked: newest.length, isWhole };
}

/** @param {{rows: Recognition[]}} props recognitions of one plate, newest first */
export function Together({ rows }) {
  const [seconds, setSeconds] = useState("30");
  const [result, setResult] = useState(/** @type {Awaited<ReturnType<typeof findCompanions>> | null} */ (null));
  const { isBusy, failure, run } = useAction();
  const choose = (value) => {
    setSeconds(value);
    setResult(null);
  };
  const search = () => run(async () => setResult(await findCompanions(rows, Number(seconds))));
  return html`<section class="panel"><h2>${t("Seen together")}</h2>
    <p class="note">${t("Other plates at the same camera shortly before or after this one. Checks the newest {n} recognitions.", { n: number(CHECKED) })}</p>
    <div class="actions">
      <${SelectField} disabled=${isBusy} label=${t("Within")} value=${seconds} onValue=${choose} options=${[["10", t("10 seconds")], ["30", t("30 seconds")], ["60", t("1 minute")], ["300", t("5 minutes")]]} />
      <button type="button" disabled=${isBusy} onClick=${search}>${isBusy ? t("Searching…") : t("Find plates")}</button>
    </div>
    <${FormFault} failure=${failure} />
    <div role="status">${result && html`<p>${result.companions.length ? tn(result.companions.length, "{n} plate found", "{n} plates found") : t("No other plates found")} ${!result.isWhole && t("During busy moments, only some recognitions were checked, so plates may be missing.")}</p>`}</div>
    ${result && result.companions.length > 0 && html`<${Table} caption=${t("Seen together")} columns=${[t("Plate"), { text: t("Times together"), kind: "number" }, t("Last seen together"), t("Camera")]}>
      ${result.companions.slice(0, SHOWN).map(({ plate, passes }) => html`<tr key=${plate}>
        <td><${Link} href=${`/search?plate=${encodeURIComponent(plate)}&match=exact&view=history`} class="plate-link"><${Plate} text=${plate} /></${Link}></td>
        <td class="number">${number(passes.length)}</td>
        <td><${Link} href=${`/recognitions/${passes[0].id}`}><${Moment} at=${passes[0].timestamp} /></${Link}></td><td><bdi>${cameraName(passes[0])}</bdi></td></tr>`)}
    </${Table}>`}
  </section>`;
}
