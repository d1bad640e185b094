/** @file The interface's words: English in the code, other languages by a table. */

/** @type {Record<string, string>} */
let table = {};

const CHOSEN = "platestream.language";
const LANGUAGES = { en: "English", pt: "Português (Brasil)" };

/** The languages by their codes, each under its own name. */
export const languages = LANGUAGES;

/** The language's code: chosen here before, else the browser's first that there is. */
export const language = chosen();

/** Loads the table of the language; to be awaited before anything is shown. */
export async function loadWords() {
  document.documentElement.lang = language === "pt" ? "pt-BR" : language;
  if (language !== "en") table = (await import(`./words/${language}.js`)).words;
}

/**
 * Returns a text in the interface's language.
 * @param {string} text in English; `{name}` stands for a value
 * @param {Record<string, string | number>} [values]
 */
export function t(text, values) {
  const words = Object.hasOwn(table, text) ? table[text] : text;
  if (!values) return words;
  return words.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/**
 * Returns one text for a single thing, another for several; `{n}` stands for the number.
 * @param {number} n
 * @param {string} one
 * @param {string} several
 */
export function tn(n, one, several) {
  return t(n === 1 ? one : several, { n: n.toLocaleString(locale()) });
}

/** The locale for dates and numbers: the browser's, where it is of the interface's language. */
export function locale() {
  return navigator.languages.find((each) => each.startsWith(language)) ?? language;
}

/** @param {string} code */
export function chooseLanguage(code) {
  localStorage.setItem(CHOSEN, code);
  location.reload();
}

function chosen() {
  const kept = localStorage.getItem(CHOSEN);
  if (kept && Object.hasOwn(LANGUAGES, kept)) return kept;
  const wanted = navigator.languages.map((each) => each.slice(0, 2).toLowerCase());
  return wanted.find((each) => Object.hasOwn(LANGUAGES, each)) ?? "en";
}
