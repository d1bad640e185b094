/** @file The texts of the interface: English in the code, other languages in a table. */

/** @type {Record<string, string>} */
let table = {};

/** Sentences of the server, with `{name}` for a variable part. @type {Record<string, string>} */
let sentences = {};

const STORAGE_KEY = "platestream.language";
const LANGUAGES = { en: "English", pt: "Português (Brasil)" };

/** The languages by code, each in its own language. */
export const languages = LANGUAGES;

/** The language's code: the stored choice, or the browser's first supported language. */
export const language = chosen();

/** Loads the language's table. Await this before rendering. */
export async function loadWords() {
  document.documentElement.lang = language === "pt" ? "pt-BR" : language;
  if (language !== "en") ({ words: table, sentences } = await import(`./words/${language}.js`));
}

/**
 * Returns a text in the interface's language.
 * @param {string} text in English; `{name}` is replaced by a value
 * @param {Record<string, string | number>} [values]
 */
export function t(text, values) {
  return filled(Object.hasOwn(table, text) ? table[text] : text, values);
}

/** @param {string} words @param {Record<string, string | number>} [values] */
function filled(words, values = {}) {
  return words.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Returns a sentence or field error of the server in the interface's language, or in English if it is unknown. @param {string} text */
export function translated(text) {
  for (const [english, words] of Object.entries(sentences)) {
    const form = english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>.+)");
    const found = new RegExp(`^${form}$`).exec(text);
    if (found) return filled(words, found.groups);
  }
  return text;
}

/**
 * Returns the singular or plural text. `{n}` is the number.
 * @param {number} n
 * @param {string} one
 * @param {string} several
 */
export function tn(n, one, several) {
  return t(n === 1 ? one : several, { n: n.toLocaleString(locale()) });
}

/** Returns the locale for dates and numbers: the browser's, if it has the interface's language. */
export function locale() {
  return navigator.languages.find((each) => each.startsWith(language)) ?? language;
}

/** @param {string} code */
export function chooseLanguage(code) {
  localStorage.setItem(STORAGE_KEY, code);
  location.reload();
}

function chosen() {
  const stored = localStorage.getItem(STORAGE_KEY);
  if (stored && Object.hasOwn(LANGUAGES, stored)) return stored;
  const wanted = navigator.languages.map((each) => each.slice(0, 2).toLowerCase());
  return wanted.find((each) => Object.hasOwn(LANGUAGES, each)) ?? "en";
}
