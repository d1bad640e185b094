/** @file The schedule of an alert: as text, as a form, and as a band over the week. */

import { html } from "./html.js";
import { weekdays } from "./format.js";
import { Check, Field } from "./ui.js";
import { TimeZoneField } from "./time-zones.js";
import { t } from "./words.js";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAY_MINUTES = 24 * 60;

/** @param {string} text `22:00` */
function minutes(text) {
  const [hours, rest] = text.split(":").map(Number);
  return Number.isNaN(hours) || Number.isNaN(rest) ? 0 : hours * 60 + rest;
}

/** @param {{startTime: string, endTime: string}} schedule */
const isOvernight = ({ startTime, endTime }) => minutes(endTime) < minutes(startTime);

/** Returns the schedule as text. */
export function scheduleText(alert) {
  if (!alert.scheduleEnabled) return t("Always");
  const { startTime, endTime, daysOfWeek } = alert.schedule;
  const names = weekdays("short");
  const days = !daysOfWeek.length || daysOfWeek.length === 7 ? t("Every day") : DAYS.filter((day) => daysOfWeek.includes(day)).map((day) => names[DAYS.indexOf(day)]).join(", ");
  return startTime === endTime ? days : `${days}, ${startTime}–${endTime}`;
}

/**
 * Returns the parts of each weekday that the schedule covers, in minutes, end exclusive.
 * @param {{startTime: string, endTime: string, daysOfWeek: string[]}} schedule
 * @returns {[number, number][][]} Monday first
 */
export function bands(schedule) {
  const [start, end] = [minutes(schedule.startTime), minutes(schedule.endTime)];
  /** @type {[number, number][][]} */
  const found = DAYS.map(() => []);
  DAYS.forEach((day, at) => {
    if (schedule.daysOfWeek.length && !schedule.daysOfWeek.includes(day)) return;
    if (start === end) found[at].push([0, DAY_MINUTES]);
    else if (start < end) found[at].push([start, end + 1]);
    else {
      // A night belongs to the day on which it starts.
      found[at].push([start, DAY_MINUTES]);
      found[(at + 1) % 7].push([0, end + 1]);
    }
  });
  return found;
}

/** The week with the hours in which the alert can trigger. */
function WeekBand({ schedule }) {
  const found = bands(schedule);
  const names = weekdays("short");
  return html`<div class="week" role="img" aria-label=${t("Active hours of the week: {hours}", { hours: scheduleText({ scheduleEnabled: true, schedule }) })}>
    ${names.map((name, at) => html`<div key=${name} class="week-day"><span>${name}</span>
      <svg viewBox="0 0 1440 10" preserveAspectRatio="none">${[6, 12, 18].map((hour) => html`<line key=${hour} x1=${hour * 60} x2=${hour * 60} y1="0" y2="10" />`)}
        ${found[at].map(([from, to], place) => html`<rect key=${place} x=${from} width=${to - from} y="0" height="10" />`)}</svg></div>`)}
    <div class="week-day hours"><span></span><span class="hours-row"><span>00</span><span>06</span><span>12</span><span>18</span><span>24</span></span></div>
  </div>`;
}

export function ScheduleFields({ form, onForm, failure, accountZone }) {
  const { schedule } = form;
  const set = (change) => onForm({ ...form, schedule: { ...schedule, ...change } });
  const names = weekdays("long");
  const toggle = (day) => (isOn) => {
    const before = schedule.daysOfWeek.length ? schedule.daysOfWeek : DAYS;
    const days = DAYS.filter((each) => (each === day ? isOn : before.includes(each)));
    set({ daysOfWeek: days.length === 7 ? [] : days });
  };
  const time = (name, label, hint) => html`<${Field} label=${label} hint=${hint} fault=${failure?.fault(`schedule.${name}`)}>
    ${(ids) => html`<input ...${ids} type="time" required value=${schedule[name]} onInput=${(event) => set({ [name]: event.currentTarget.value })} />`}
  </${Field}>`;
  return html`<${Check} label=${t("Limit to a schedule")} checked=${form.scheduleEnabled} onValue=${(isOn) => onForm({ ...form, scheduleEnabled: isOn })} />
    ${form.scheduleEnabled && html`<div class="fields">
      ${time("startTime", t("From"))}
      ${time("endTime", t("To (inclusive)"), isOvernight(schedule) ? t("Overnight: ends the next day and counts as the day it starts.") : schedule.startTime === schedule.endTime ? t("Same start and end: all day") : "")}
      <${TimeZoneField} label=${t("Time zone")} value=${form.timezone} onValue=${(timezone) => onForm({ ...form, timezone })} fault=${failure?.fault("timezone")} hint=${t("Leave empty to use the account's time zone ({zone}).", { zone: accountZone })} />
      <fieldset class="wide days"><legend>${t("Starts on")}</legend>
        ${DAYS.map((day, at) => html`<${Check} key=${day} label=${names[at]} checked=${!schedule.daysOfWeek.length || schedule.daysOfWeek.includes(day)} onValue=${toggle(day)} disabled=${schedule.daysOfWeek.length === 1 && schedule.daysOfWeek[0] === day} />`)}
      </fieldset>
    </div>`}
    ${form.scheduleEnabled && html`<${WeekBand} schedule=${schedule} />`}`;
}
