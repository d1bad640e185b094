/** @file Analytics of today, the last 7 or the last 30 days. */

import { html } from "../html.js";
import { get } from "../api.js";
import { Columns, HeatMap, Ranking } from "../charts.js";
import { localTime } from "../csv.js";
import { calendarDay, cameraName, number, percent, shortDateTime, weekdays } from "../format.js";
import { newestRecognitions } from "../history.js";
import { useLoad } from "../load.js";
import { Link, goQuery, opens } from "../router.js";
import { session } from "../session.js";
import { useSignal } from "../signal.js";
import { Fault, Head, Moment, Plate, Segments, Table, Waiting } from "../ui.js";
import { t } from "../words.js";

const WEEK = 7;
const TOP_PLATES = 10;
const HOUR_MS = 3_600_000;
/** The periods by their number of days. The API returns the charts of the longest period. @type {[string, () => string][]} */
const PERIODS = [
  ["1", () => t("Today")],
  ["7", () => t("Last 7 days")],
  ["", () => t("Last 30 days")],
];

/** Compares the last 7 full days with the 7 days before. @param {{count: number}[]} days oldest first, the last one not finished */
function weekOnWeek(days) {
  const sum = (/** @type {number} */ from, /** @type {number} */ to) => days.slice(from, to).reduce((total, day) => total + day.count, 0);
  const last = sum(-WEEK - 1, -1);
  const before = sum(-2 * WEEK - 1, -WEEK - 1);
  return { last, before, change: before ? last / before - 1 : null };
}

/** Returns the numbers by a key, the highest first. @param {any[]} rows @param {(row: any) => string} keyOf */
function ranked(rows, keyOf) {
  /** @type {Map<string, {row: any, count: number}>} */
  const found = new Map();
  for (const row of rows) found.set(keyOf(row), { row, count: (found.get(keyOf(row))?.count ?? 0) + 1 });
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/**
 * Returns the charts of a shorter period, from its newest recognitions.
 * @param {{date: string}[]} days oldest first, in the account's time zone
 * @param {AbortSignal} abort
 */
async function chartsOf(days, abort) {
  const midnight = Date.parse(`${days[0].date}T00:00Z`);
  const ahead = Date.parse(`${localTime(new Date(midnight).toISOString()).replace(" ", "T")}Z`) - midnight;
  // An hour is added, because the clocks may change on that day.
  const from = new Date(midnight - ahead - HOUR_MS).toISOString();
  const found = await newestRecognitions({ from }, abort);
  const rows = found.rows.map((row) => ({ ...row, local: localTime(row.timestamp) })).filter((row) => row.local >= days[0].date);
  const hourlyChart = Array.from({ length: 24 }, (_, hour) => ({ hour, count: 0 }));
  const heatMap = Array.from({ length: WEEK }, () => Array(24).fill(0));
  for (const { local } of rows) {
    const hour = Number(local.slice(11, 13));
    hourlyChart[hour].count += 1;
    heatMap[(new Date(`${local.slice(0, 10)}T00:00Z`).getUTCDay() + 6) % WEEK][hour] += 1;
  }
  const isWhole = found.isAll || rows.length < found.rows.length;
  return {
    shown: isWhole ? 0 : rows.length,
    // From the same rows as the other charts, so that their totals match.
    days: isWhole ? days.map(({ date }) => ({ date, count: rows.filter((row) => row.local.startsWith(date)).length })) : days,
    hourlyChart,
    heatMap,
    cameraChart: ranked(rows, (row) => row.cameraId).map(({ row, count }) => ({ cameraId: row.cameraId, cameraName: row.cameraName, count })),
    topPlates: ranked(rows, (row) => row.plate).slice(0, TOP_PLATES).map(({ row, count }) => ({ plate: row.plate, count })),
  };
}

function Charts({ days, charts }) {
  const unit = t("Recognitions");
  return html`
    ${days.length > 1 && html`<${Columns} title=${t("By day")} column=${t("Day")} unit=${unit} every=${days.length > WEEK ? WEEK : 1} areDays entries=${days.map((day) => ({ name: calendarDay(day.date), value: day.count }))} />`}
    <${Columns} title=${t("By hour of day")} column=${t("Hour")} unit=${unit} every=${6} entries=${charts.hourlyChart.map((hour) => ({ name: `${hour.hour}`, value: hour.count }))} />
    ${days.length > 1 && html`<${HeatMap} title=${t("By weekday and hour")} days=${weekdays("short")} counts=${charts.heatMap} />`}
    <${Ranking} title=${t("By camera")} column=${t("Camera")} unit=${unit} entries=${charts.cameraChart.map((camera) => ({ name: cameraName(camera), value: camera.count, href: `/search?cameraId=${camera.cameraId}` }))}
      render=${(entry) => html`<${Link} href=${entry.href}><bdi>${entry.name}</bdi></${Link}>`} />
    <${Ranking} title=${t("Most frequent plates")} column=${t("Plate")} unit=${unit} entries=${charts.topPlates.map((plate) => ({ name: plate.plate, value: plate.count, href: `/search?plate=${encodeURIComponent(plate.plate)}&match=exact&view=history` }))}
      render=${(entry) => html`<${Link} href=${entry.href}><${Plate} text=${entry.name} /></${Link}>`} />`;
}

export function AnalyticsPage({ query }) {
  const found = useLoad((abort) => get("/api/analytics", {}, abort), ["analytics"], { everySeconds: 60 });
  const zone = useSignal(session)?.timezone;
  const data = found.data;
  const period = query.days === "1" || query.days === "7" ? query.days : "";
  const days = data ? data.dailyChart.slice(-Number(period || data.dailyChart.length)) : [];
  const part = useLoad((abort) => (period && days.length ? chartsOf(days, abort) : Promise.resolve(null)), [period, days[0]?.date], { everySeconds: period ? 60 : 0 });
  if (!data) return html`<${Head} title=${t("Analytics")} /><${Fault} failure=${found.failure} retry=${found.reload} />${found.isLoading && html`<${Waiting} rows=${8} />`}`;
  const { last, change } = weekOnWeek(data.dailyChart);
  const charts = period ? part.data : data;
  const shownDays = part.data?.days ?? days;
  return html`<${Head} title=${t("Analytics")} note=${zone ? t("Days and hours in {zone}", { zone }) : ""}>
      <${Segments} label=${t("Period")} value=${period} onValue=${(value) => goQuery({ days: value }, { replace: true })} options=${PERIODS.map(([value, text]) => [value, text()])} />
    </${Head}>
    <${Fault} failure=${found.failure ?? part.failure} retry=${found.failure ? found.reload : part.reload} />
    <div class="facts">
      <div><span>${t("Recognitions today")}</span><strong>${number(shownDays.at(-1).count)}</strong></div>
      <div><span>${t("Last 7 full days")}</span><strong>${number(last)}</strong>${change !== null && html`<em>${t("{change} vs previous 7 days", { change: `${change >= 0 ? "+" : "−"}${percent(Math.abs(change))}` })}</em>`}</div>
      <div><span>${t("Last 30 days")}</span><strong>${number(data.stats.total30d)}</strong></div>
      <div><span>${t("Read rate (30 days)")}</span><strong>${percent(data.stats.successRate / 100)}</strong></div>
      <div><span>${t("Enabled cameras")}</span><strong>${number(data.stats.activeCameras)}</strong></div>
    </div>
    ${charts?.shown > 0 && html`<p class="note count-line">${t("Charts by hour, camera and plate show the newest {n} recognitions of this period.", { n: number(charts.shown) })}</p>`}
    ${!charts && !part.failure && html`<${Waiting} rows=${8} />`}
    <div class="charts">
      ${charts && html`<${Charts} days=${shownDays} charts=${charts} />`}
      <section class="panel chart"><h2>${t("Latest recognitions")}</h2><${Table} caption=${t("Latest recognitions")} columns=${[t("Plate"), t("Camera"), t("Time")]}>
        ${data.recent.map((row) => html`<tr key=${row.id} class="opens" onClick=${opens(`/recognitions/${row.id}`)}><td><${Link} href=${`/recognitions/${row.id}`} class="plate-link"><${Plate} text=${row.plate} /></${Link}></td><td><bdi>${cameraName(row)}</bdi></td><td><${Moment} at=${row.timestamp} format=${shortDateTime} /></td></tr>`)}
      </${Table}></section>
    </div>`;
}
