/** @file What a person chose for this browser: colours, keys, sound. */

import { signal } from "./signal.js";

/** @param {string} name @param {string} usual */
function kept(name, usual) {
  const key = `platestream.${name}`;
  const made = signal(localStorage.getItem(key) ?? usual);
  made.followers.add(() => localStorage.setItem(key, made.value));
  return made;
}

/** `auto` (the system's), `light` or `dark`. */
export const theme = kept("theme", "auto");
/** Whether single keys do something: `on` or `off`. */
export const shortcuts = kept("shortcuts", "on");
/** Whether an alert that fires is heard in the live view: `on` or `off`. */
export const sound = kept("sound", "off");

function paint() {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

theme.followers.add(paint);
paint();
