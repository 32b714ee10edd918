// board.js - the leaderboard: a table that stays quick with 10,000 rows because only those in sight exist.
// Every row has the same height, and the one that is opened has its details in a row of its own below it.
// Rows are kept by trial id; sorting and filtering make an order over them.

import { h, replace, s, setText } from './dom.js';
import { NONE, bytes, clamp, columnDecimals, count, fixed, micros, nanos, value } from './format.js';
import { compile } from './filter.js';

const ROW = 38, MORE = 8;

const columns = [
  { key: 'rank', name: 'Rank', num: true, dir: 1 },
  { key: 'number', name: 'Trial', dir: 1 },
  { key: 'family', name: 'Family', dir: 1 },
  { key: 'score', name: 'Score', num: true, wide: true },
  { key: 'test_score', name: 'Test score', num: true },
  { key: 'level', name: 'Resource', num: true, dir: -1, hint: 'Level reached of the family’s ladder' },
  { key: 'fit_us', name: 'Fit time', num: true, dir: 1 },
  { key: 'predict_ns_row', name: 'Predict/row', num: true, dir: 1 },
  { key: 'model_bytes', name: 'Size', num: true, dir: 1 },
  { key: 'state', name: 'State', dir: 1 },
];

function compare(a, b) {
  const noA = a === null || a === undefined, noB = b === null || b === undefined;
  if (noA || noB) return noA - noB;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What a trial that has not ended by itself said last. */
function reportedCell(r, decimals) {
  if (!Number.isFinite(r.reported)) return [h('span', { class: 'quiet' }, NONE)];
  return [h('span', { class: 'reported', title: `Reported at level ${r.level} of ${r.max_level}` }, fixed(r.reported, decimals))];
}

/** Levels of the ladder as ticks, those reached filled; words for the others. */
function levelCell(r) {
  if (!r.max_level) return NONE;
  const level = r.level ?? 0, text = `${level}/${r.max_level}`;
  if (r.max_level > 8 || r.max_level < 2) return text;
  const ticks = Array.from({ length: r.max_level }, (_, i) => h('i', { class: i < level ? 'on' : null }));
  return [h('span', { class: 'levels', 'aria-hidden': 'true' }, ticks), text];
}

/** "0.9312 ± 0.0021" with the point where the column has it. */
function scoreCell(score, se, decimals) {
  if (!Number.isFinite(score)) return [h('span', { class: 'quiet' }, NONE)];
  return [fixed(score, decimals), Number.isFinite(se) ? h('span', { class: 'se' }, ` ± ${fixed(se, decimals)}`) : null];
}

/** A dot with its standard error on the scale that the good half of the board spans. */
function whisker(score, se, scale) {
  const W = 72, at = (x) => 4 + (W - 8) * clamp((x - scale.lo) / (scale.hi - scale.lo || 1), 0, 1);
  if (!Number.isFinite(score)) return null;
  return s('svg', { class: 'whisker', width: W, height: 14, viewBox: `0 0 ${W} 14`, 'aria-hidden': 'true' },
    s('line', { class: 'w-axis', x1: 2, x2: W - 2, y1: 7, y2: 7 }),
    Number.isFinite(se) ? s('line', { class: 'w-se', x1: at(score - se), x2: at(score + se), y1: 7, y2: 7 }) : null,
    s('circle', { class: 'w-dot', cx: at(score), cy: 7, r: 3 }));
}

const unfinished = ['running', 'paused', 'queued', 'pruned'];
const stateOrder = (r) => (unfinished.indexOf(r.state) + unfinished.length + 1) % (unfinished.length + 1);

export function makeBoard({ caption, onOpen, onVariant }) {
  const rows = new Map();
  let order = [], isLower = false, sortKey = 'rank', sortDir = 1, filterText = '', test = () => true, filterError = '';
  let opened = null, openedHeight = 0, decimals = { score: 4, test_score: 4 }, scale = { lo: 0, hi: 1 };
  let drawn = '', fresh = new Map();
  const curves = new Map(); // of trials whose row was opened

  const top = h('tr', { class: 'space', 'aria-hidden': 'true' }, h('td', { colspan: columns.length + 1 }));
  const bottom = top.cloneNode(true);
  const body = h('tbody', {}, top, bottom);
  const heads = columns.map((c) => {
    const button = h('button', { type: 'button', onclick: () => sortBy(c), title: c.hint || null }, h('span', {}, c.name),
      h('span', { class: 'arrow', 'aria-hidden': 'true' }));
    return h('th', { scope: 'col', class: [c.num && 'num', c.wide && 'wide'].filter(Boolean).join(' ') || null, 'aria-sort': 'none' }, button);
  });
  const table = h('table', { class: 'board' }, h('caption', { class: 'unseen' }, caption),
    h('thead', {}, h('tr', {}, heads, h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Model')))), body);
  const scroller = h('div', { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': caption }, table);
  const shown = h('span', { class: 'quiet num', id: 'board-count' });

  function sortBy(column) {
    const first = column.dir || (isLower ? 1 : -1);
    sortDir = sortKey === column.key ? -sortDir : first;
    sortKey = column.key;
    arrange();
  }

  function markHeads() {
    columns.forEach((c, i) => heads[i].setAttribute('aria-sort',
      c.key !== sortKey ? 'none' : sortDir > 0 ? 'ascending' : 'descending'));
  }

  /** Ranks are the place by score, whatever the table is sorted by; ties go to the earlier trial. */
  function rank() {
    const sign = isLower ? 1 : -1;
    const all = [...rows.values()].sort((a, b) => {
      const none = !Number.isFinite(a.score) - !Number.isFinite(b.score);
      if (none) return none;
      if (Number.isFinite(a.score)) return sign * (a.score - b.score) || a.number - b.number;
      return (b.level || 0) - (a.level || 0) || stateOrder(a) - stateOrder(b) || b.number - a.number;
    });
    all.forEach((r, i) => { r.rank = Number.isFinite(r.score) ? i + 1 : null; });
    const models = all.filter((r) => Number.isFinite(r.score) && r.family !== 'baseline');
    const good = models.slice(0, Math.max(2, Math.ceil(models.length * 0.75))).map((r) => r.score);
    const margin = Math.max(0, ...all.slice(0, 20).map((r) => r.se).filter(Number.isFinite));
    scale = good.length ? { lo: good[good.length - 1], hi: good[0] - sign * margin } : { lo: 0, hi: 1 };
    decimals = { score: columnDecimals(all, 'score', 'se'), test_score: columnDecimals(all, 'test_score', 'test_se') };
    return all;
  }

  function arrange() {
    const all = rank();
    order = all.filter(test);
    if (sortKey !== 'rank' || sortDir < 0)
      order.sort((a, b) => compare(a[sortKey], b[sortKey]) * ((a[sortKey] ?? null) === null || (b[sortKey] ?? null) === null ? 1 : sortDir) || (a.rank ?? Infinity) - (b.rank ?? Infinity) || b.number - a.number);
    if (opened !== null && !order.includes(rows.get(opened))) opened = null;
    setText(shown, filterError || (order.length === all.length ? count(all.length) : `${count(order.length)} of ${count(all.length)}`));
    markHeads();
    drawn = '';
    draw();
  }

  function downloadLink(r) {
    if (!r.artifact) return null;
    return h('a', { class: 'get', href: `/api/v1/trials/${r.trial}/artifact`, download: '', title: 'Download this model',
      'aria-label': `Download the model of trial ${r.number}` },
    s('svg', { viewBox: '0 0 16 16', width: 15, height: 15, 'aria-hidden': 'true' },
      s('path', { d: 'M8 2v8m0 0 3.2-3.2M8 10 4.8 6.8M2.5 13.5h11', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' })));
  }

  function rowOf(r, index) {
    const isOpen = opened === r.trial;
    const button = h('button', { type: 'button', class: 'plain expand', 'aria-expanded': String(isOpen), 'data-trial': r.trial,
      'aria-label': `Trial ${r.number}, configuration`, onclick: (e) => { e.stopPropagation(); toggle(r.trial); } },
    `#${r.number}`);
    return h('tr', { 'aria-rowindex': index + 2, class: [r.rank === 1 && 'best', isOpen && 'open', fresh.has(r.trial) && 'fresh'].filter(Boolean).join(' ') || null,
      onclick: (e) => { if (!e.target.closest('a') && !String(getSelection())) toggle(r.trial); } },
    h('td', { class: 'num rank' }, r.front ? h('span', { class: 'front', role: 'img', 'aria-label': 'on the front', title: 'On the front: no trial beats it in all objectives' }, '◆') : null, r.rank === null ? NONE : count(r.rank)),
    h('td', { class: 'trial' }, button),
    h('td', { class: 'family' }, r.family),
    h('td', { class: 'num wide' }, h('span', { class: 'score' }, whisker(r.score, r.se, scale), h('span', {}, r.rank === null ? reportedCell(r, decimals.score) : scoreCell(r.score, r.se, decimals.score)))),
    h('td', { class: 'num' }, scoreCell(r.test_score, r.test_se, decimals.test_score)),
    h('td', { class: 'num' }, levelCell(r)),
    h('td', { class: 'num' }, micros(r.fit_us)),
    h('td', { class: 'num' }, nanos(r.predict_ns_row)),
    h('td', { class: 'num' }, bytes(r.model_bytes || null)),
    h('td', {}, h('span', { class: 'state', 'data-state': r.state }, r.state, r.cut ? h('abbr', { title: 'Ended by the time limit with its best point so far' }, ' cut') : null)),
    h('td', { class: 'act' }, downloadLink(r)));
  }

  function detailOf(r) {
    const config = Object.entries(r.config || {}).filter(([k]) => k !== 'family');
    const list = h('dl', { class: 'config' }, config.map(([k, v]) => h('div', {}, h('dt', {}, k.replaceAll('_', ' ')), h('dd', {}, value(v)))));
    return h('tr', { class: 'detail' }, h('td', { colspan: columns.length + 1 },
      h('div', { class: 'detail-in' }, config.length ? list : h('p', { class: 'quiet' }, 'This family has nothing to set.'),
        h('div', { class: 'curve-room', 'data-curves': r.trial }, curves.get(r.trial) || null),
        h('p', { class: 'detail-links' }, r.artifact ? h('a', { href: `/api/v1/trials/${r.trial}/artifact`, download: '' }, 'Download this model') : h('span', { class: 'quiet' }, r.rank === null ? 'No model: it has not run to its end.' : 'The model of this trial was not kept.'),
          h('button', { type: 'button', class: 'plain link', onclick: () => navigator.clipboard?.writeText(JSON.stringify(r.config)) }, 'Copy as JSON'),
          onVariant ? h('button', { type: 'button', class: 'plain link', onclick: () => onVariant(r) }, 'Try a variant') : null))));
  }

  function toggle(trial) {
    opened = opened === trial ? null : trial;
    openedHeight = 0;
    drawn = '';
    draw();
    if (opened !== null) onOpen?.(rows.get(opened));
    body.querySelector(`button[data-trial="${trial}"]`)?.focus({ preventScroll: true });
  }

  /** Rows in sight, and a few more; two spacer rows stand for the others. */
  function draw() {
    const headHeight = table.tHead.offsetHeight || ROW;
    const openAt = opened === null ? -1 : order.findIndex((r) => r.trial === opened);
    let y = scroller.scrollTop - headHeight;
    if (openAt >= 0 && y > (openAt + 1) * ROW + openedHeight) y -= openedHeight;
    const first = clamp(Math.floor(y / ROW) - MORE, 0, Math.max(0, order.length - 1));
    const last = Math.min(order.length, first + Math.ceil((scroller.clientHeight || 600) / ROW) + 2 * MORE);
    const key = `${first} ${last} ${opened}`;
    if (key === drawn) return;
    drawn = key;
    const held = body.contains(document.activeElement) ? document.activeElement.getAttribute('data-trial') : null;
    const some = [];
    for (let i = first; i < last; i++) {
      some.push(rowOf(order[i], i));
      if (i === openAt) some.push(detailOf(order[i]));
    }
    top.firstChild.style.height = `${first * ROW + (openAt >= 0 && openAt < first ? openedHeight : 0)}px`;
    bottom.firstChild.style.height = `${(order.length - last) * ROW + (openAt >= last ? openedHeight : 0)}px`;
    table.setAttribute('aria-rowcount', order.length + 1);
    replace(body, top, some, order.length ? null : emptyRow(), bottom);
    if (openAt >= first && openAt < last) openedHeight = body.querySelector('.detail').offsetHeight;
    if (held) body.querySelector(`button[data-trial="${held}"]`)?.focus({ preventScroll: true });
  }

  function emptyRow() {
    const text = rows.size ? 'No trial matches the filter.' : 'The first trials appear here in a moment.';
    return h('tr', { class: 'none' }, h('td', { colspan: columns.length + 1 }, text));
  }

  let asked = false;
  scroller.addEventListener('scroll', () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }, { passive: true });
  const resized = new ResizeObserver(() => { drawn = ''; draw(); });
  resized.observe(scroller);

  return {
    scroller,
    shown,
    rows,
    /** Takes what the server says of some trials; whole = of all of them. */
    update(list, whole, lower) {
      const had = rows.size, now = performance.now();
      isLower = lower;
      if (whole) {
        const there = new Set(list.map((r) => r.trial));
        for (const id of rows.keys()) if (!there.has(id)) rows.delete(id);
      }
      for (const r of list) {
        if (had && !rows.has(r.trial)) fresh.set(r.trial, now);
        rows.set(r.trial, r);
      }
      for (const [id, at] of fresh) if (now - at > 1500) fresh.delete(id);
      arrange();
    },
    filter(text) {
      filterText = text;
      try {
        const all = [...rows.values()];
        test = compile(filterText, { families: new Set(all.map((r) => r.family)), parameters: new Set(all.flatMap((r) => Object.keys(r.config || {}))), isWhole: true }).test;
        filterError = '';
      } catch (err) {
        filterError = err.message;
      }
      arrange();
      return filterError;
    },
    /** Pictures for the opened row of a trial; null = none. */
    setCurves(trial, box) {
      if (box) curves.set(trial, box);
      else curves.delete(trial);
      drawn = '';
      draw();
    },
    best: () => [...rows.values()].find((r) => r.rank === 1) || null,
    ordered: () => order,
    stop: () => resized.disconnect(),
  };
}
