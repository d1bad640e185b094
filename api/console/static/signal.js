/** @file Values that components subscribe to. */

import { useEffect, useState } from "preact/hooks";

/**
 * A value with subscribers.
 * @template T
 */
export class Signal {
  /** @param {T} value */
  constructor(value) {
    /** @type {T} */
    this.current = value;
    /** @type {Set<() => void>} */
    this.followers = new Set();
  }

  get value() {
    return this.current;
  }

  set value(value) {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const each of [...this.followers]) each();
  }
}

/**
 * @template T
 * @param {T} value
 */
export function signal(value) {
  return new Signal(value);
}

/**
 * Returns the value, and redraws the component when it changes.
 * @template T
 * @param {Signal<T>} followed
 * @returns {T}
 */
export function useSignal(followed) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const follower = () => redraw((count) => count + 1);
    followed.followers.add(follower);
    follower();
    return () => void followed.followers.delete(follower);
  }, [followed]);
  return followed.value;
}
