/** @file Preferences of this browser: theme, keyboard shortcuts, sound. */

import { signal } from "./signal.js";

/** @param {string} name @param {string} fallback */
function stored(name, fallback) {
  const key = `platestream.${name}`;
  const setting = signal(localStorage.getItem(key) ?? fallback);
  setting.followers.add(() => localStorage.setItem(key, setting.value));
  return setting;
}

/** `auto` (system), `light` or `dark`. */
export const theme = stored("theme", "auto");
/** Whether keyboard shortcuts are enabled: `on` or `off`. */
export const shortcuts = stored("shortcuts", "on");
/** Whether the live view plays a sound when an alert triggers: `on` or `off`. */
export const sound = stored("sound", "off");

function applyTheme() {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

theme.followers.add(applyTheme);
applyTheme();
