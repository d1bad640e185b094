/** @file The roles of people. */

import { html } from "./html.js";
import { t } from "./words.js";

/** @type {Record<string, {name: () => string, meaning: () => string}>} */
export const ROLES = {
  viewer: { name: () => t("Viewer"), meaning: () => t("Can view recognitions, cameras, alerts and analytics") },
  operator: { name: () => t("Operator"), meaning: () => t("Can also manage cameras, alerts and webhooks, and correct plates") },
  administrator: { name: () => t("Administrator"), meaning: () => t("Full access, including API keys, people and the time zone") },
};

/** A choice of roles, each with its permissions. */
export function RoleField({ role, onRole }) {
  return html`<fieldset class="roles"><legend>${t("Role")}</legend>
    ${Object.entries(ROLES).map(([one, { name, meaning }]) => html`<label key=${one} class="choice"><input type="radio" name="role" value=${one} checked=${one === role} onChange=${() => onRole(one)} />
      <span><strong>${name()}</strong> <span class="note">${meaning()}</span></span></label>`)}
  </fieldset>`;
}
