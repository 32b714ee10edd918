// dom.js - making elements without a library. h('a', {href: x, class: 'y', onclick: f}, 'text', child).
// Text always goes in as text, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(el, attrs, children) {
  for (const [key, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else if (key === 'dataset') Object.assign(el.dataset, value);
    else el.setAttribute(key, value === true ? '' : value);
  }
  add(el, children);
  return el;
}

function add(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(el, child);
    else el.append(child);
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

/** Sets text only when it differs, so that selections and screen readers are left alone. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

export function announce(text) {
  const live = document.getElementById('live');
  live.textContent = '';
  setTimeout(() => { live.textContent = text; }, 50);
}
