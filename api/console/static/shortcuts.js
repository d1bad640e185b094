/** @file Keyboard shortcuts, if they are enabled and the person is not typing. */

import { useEffect, useRef } from "./html.js";
import { shortcuts } from "./settings.js";

/** @param {KeyboardEvent} event */
function isTyping(event) {
  const at = /** @type {HTMLElement} */ (event.target);
  return at.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(at.tagName);
}

/**
 * @param {Record<string, (event: KeyboardEvent) => void>} keys by `KeyboardEvent.key`
 */
export function useKeys(keys) {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const listen = (/** @type {KeyboardEvent} */ event) => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
      if (!isPlain || shortcuts.value !== "on" || isTyping(event) || document.querySelector("dialog[open]")) return;
      const action = now.current[event.key];
      if (!action) return;
      // A focused button or link handles Space and Enter itself.
      if ([" ", "Enter"].includes(event.key) && /^(A|BUTTON|SUMMARY)$/.test(/** @type {HTMLElement} */ (event.target).tagName)) return;
      event.preventDefault();
      action(event);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}
