// dom.js - makes and changes elements without a library, for example h('a', {href: x, class: 'y',
// onclick: f}, 'text', child). Text is always added as text, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(el, attrs, children) {
  for (const [key, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on'))
      el.addEventListener(key.slice(2), value);
    else if (key === 'dataset')
      Object.assign(el.dataset, value);
    else
      el.setAttribute(key, value === true ? '' : value);
  }
  add(el, children);
  return el;
}

function add(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child))
      add(el, child);
    else
      el.append(child);
  }
}

export function h(tag, attrs, ...children) {
  return fill(document.createElement(tag), attrs, children);
}

export function s(tag, attrs, ...children) {
  return fill(document.createElementNS(SVG, tag), attrs, children);
}

export function replace(el, ...children) {
  el.replaceChildren();
  add(el, children);
  return el;
}

/**
 * Sets the text only when it differs, so that selections are kept and screen readers do not repeat
 * it.
 */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

export function announce(text) {
  const live = document.getElementById('live');
  live.textContent = '';
  setTimeout(() => {
    live.textContent = text;
  }, 50);
}

/**
 * Fills an element again only when `key` differs from the key of the last call. Otherwise the
 * element keeps its children, and with them focus, selection and clicks.
 */
export function patch(el, key, make) {
  if (el.patchKey === key) return;
  el.patchKey = key;
  const made = make();
  if (typeof made === 'string')
    setText(el, made);
  else
    replace(el, made);
}

/**
 * Makes `wanted` the children of `parent` between `first` and `last`, which stay. Elements that are
 * already in the right place are not moved.
 */
export function arrange(parent, first, last, wanted) {
  const keep = new Set(wanted);
  for (let el = first ? first.nextSibling : parent.firstChild; el && el !== last;) {
    const next = el.nextSibling;
    if (!keep.has(el)) el.remove();
    el = next;
  }
  let at = first ? first.nextSibling : parent.firstChild;
  for (const el of wanted) {
    if (el === at)
      at = at.nextSibling;
    else
      parent.insertBefore(el, at);
  }
}

export function setAttr(el, name, value) {
  if (value === null || value === false || value === undefined) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
  } else if (el.getAttribute(name) !== String(value))
    el.setAttribute(name, value);
}
