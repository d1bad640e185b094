/** @file The building blocks of every page: `html` templates and Preact's hooks. */

import htm from "htm";
import { Fragment, createContext, h, render } from "preact";

export { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
export { Fragment, createContext, render };

export const html = htm.bind(h);
