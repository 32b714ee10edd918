// cases.mjs - the few lines that a unit test of the page's modules needs: cases with names that are
// sentences, counted as tests/run.sh expects. No package, no browser: the modules under test are
// pure. Ends the process by end().

import {inspect, isDeepStrictEqual} from 'node:util';

let passed = 0, failed = 0;

export async function test(name, f) {
  try {
    await f();
    passed++;
    console.log(`ok ${name}`);
  } catch (err) {
    failed++;
    console.log(`FAILED ${name}: ${err.stack}`);
  }
}

export function equal(have, want, about = '') {
  if (!isDeepStrictEqual(have, want))
    throw new Error(`${about} is ${inspect(have)}, not ${inspect(want)}`);
}

export function ok(is, about = 'it') {
  if (!is) throw new Error(`${about} does not hold`);
}

/** f must throw an Error whose text has all these words. */
export function refuses(f, ...words) {
  let told = null;
  try {
    f();
  } catch (err) {
    told = err.message;
  }
  if (told === null) throw new Error(`nothing was refused; expected words: ${words.join(', ')}`);
  for (const w of words)
    if (!told.includes(w)) throw new Error(`“${told}” does not say “${w}”`);
}

export function end() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

/** A document of elements that only remember what they were given, for modules that draw. */
export function fakeDocument() {
  class Element {
    constructor(tag) {
      Object.assign(this, { tag, attrs: {}, children: [], dataset: {}, style: {}, listeners: {} });
    }
    setAttribute(k, v) {
      this.attrs[k] = String(v);
    }
    getAttribute(k) {
      return this.attrs[k] ?? null;
    }
    addEventListener(k, f) {
      this.listeners[k] = f;
    }
    append(...list) {
      this.children.push(...list);
    }
    replaceChildren(...list) {
      this.children = list;
    }
    get textContent() {
      return this.children.map((c) => (typeof c === 'string' ? c : c.textContent)).join('');
    }
    set textContent(t) {
      this.children = [t];
    }
    all(tag) {
      return this.children.filter((c) => c instanceof Element)
          .flatMap((c) => [...(c.tag === tag ? [c] : []), ...c.all(tag)]);
    }
  }
  globalThis.document = {
    createElement: (t) => new Element(t),
    createElementNS: (ns, t) => new Element(t)
  };
}
