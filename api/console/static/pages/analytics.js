/** @file Analytics of the last 30 days. */

import { html } from "../html.js";
import { get } from "../api.js";
import { Columns, HeatMap, Ranking } from "../charts.js";
import { calendarDay, cameraName, number, percent, shortDateTime, weekdays } from "../format.js";
import { useLoad } from "../load.js";
import { Link } from "../router.js";
import { session } from "../session.js";
import { useSignal } from "../signal.js";
import { Fault, Head, Moment, Plate, Table, Waiting } from "../ui.js";
import { t } from "../words.js";

const WEEK = 7;

/** Compares the last 7 full days with the 7 before. @param {{count: number}[]} days oldest first, the last one not finished */
function weekOnWeek(days) {
  const sum = (/** @type {number} */ from, /** @type {number} */ to) => days.slice(from, to).reduce((total, day) => total + day.count, 0);
  const last = sum(-WEEK - 1, -1);
  const before = sum(-2 * WEEK - 1, -WEEK - 1);
  return { last, before, change: before ? last / before - 1 : null };
}

export function AnalyticsPage() {
  const found = useLoad((abort) => get("/api/analytics", {}, abort), ["analytics"], { everySeconds: 60 });
  const zone = useSignal(session)?.timezone;
  const data = found.data;
  if (!data) return html`<${Head} title=${t("Analytics")} /><${Fault} failure=${found.failure} retry=${found.reload} />${found.isLoading && html`<${Waiting} rows=${8} />`}`;
  const { last, change } = weekOnWeek(data.dailyChart);
  const unit = t("Recognitions");
  return html`<${Head} title=${t("Analytics")} note=${zone ? t("Last 30 days, in time zone {zone}", { zone }) : ""} />
    <${Fault} failure=${found.failure} retry=${found.reload} />
    <div class="facts">
      <div><span>${t("Recognitions (30 days)")}</span><strong>${number(data.stats.total30d)}</strong></div>
      <div><span>${t("Last 7 full days")}</span><strong>${number(last)}</strong>${change !== null && html`<em>${t("{change} vs previous 7 days", { change: `${change >= 0 ? "+" : "−"}${percent(Math.abs(change))}` })}</em>`}</div>
      <div><span>${t("Read rate")}</span><strong>${percent(data.stats.successRate / 100)}</strong></div>
      <div><span>${t("Enabled cameras")}</span><strong>${number(data.stats.activeCameras)}</strong></div>
      <div><span>${t("Active API keys")}</span><strong>${number(data.stats.activeApiKeys)}</strong></div>
    </div>
    <div class="charts">
      <${Columns} title=${t("By day")} column=${t("Day")} unit=${unit} every=${7} entries=${data.dailyChart.map((day) => ({ name: calendarDay(day.date), value: day.count }))} />
      <${Columns} title=${t("By hour of day")} column=${t("Hour")} unit=${unit} every=${3} entries=${data.hourlyChart.map((hour) => ({ name: `${hour.hour}`, value: hour.count }))} />
      <${HeatMap} title=${t("By weekday and hour")} days=${weekdays("short")} counts=${data.heatMap} />
      <${Ranking} title=${t("By camera")} column=${t("Camera")} unit=${unit} entries=${data.cameraChart.map((camera) => ({ name: cameraName(camera), value: camera.count, href: `/search?cameraId=${camera.cameraId}` }))}
        render=${(entry) => html`<${Link} href=${entry.href}><bdi>${entry.name}</bdi></${Link}>`} />
      <${Ranking} title=${t("Most frequent plates")} column=${t("Plate")} unit=${unit} entries=${data.topPlates.map((plate) => ({ name: plate.plate, value: plate.count, href: `/search?plate=${encodeURIComponent(plate.plate)}&match=exact&view=history` }))}
        render=${(entry) => html`<${Link} href=${entry.href}><${Plate} text=${entry.name} /></${Link}>`} />
      <section class="panel chart"><h2>${t("Latest recognitions")}</h2><${Table} caption=${t("Latest recognitions")} columns=${[t("Plate"), t("Camera"), t("Time")]}>
        ${data.recent.map((row) => html`<tr key=${row.id}><td><${Link} href=${`/recognitions/${row.id}`}><${Plate} text=${row.plate} /></${Link}></td><td><bdi>${cameraName(row)}</bdi></td><td><${Moment} at=${row.timestamp} format=${shortDateTime} /></td></tr>`)}
      </${Table}></section>
    </div>`;
}
