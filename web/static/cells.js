// cells.js - the cells of a row of the leaderboard. Each column has a function `of`, which makes a
// text of all values that the cell depends on, and a function `draw`. A cell is drawn again only
// when that text has changed (patch in dom.js).

import {h, s} from './dom.js';
import {bytes, clamp, count, fixed, micros, nanos, NONE, percent} from './format.js';
import {reasonText, reasonWord} from './why.js';

/** The last score that a trial reported when it has no place on the board. */
function reportedCell(r, decimals) {
  if (!Number.isFinite(r.reported)) return [h('span', { class: 'quiet' }, NONE)];
  return [h(
      'span', { class: 'reported', title: `Reported at level ${r.level} of ${r.max_level}` },
      fixed(r.reported, decimals))];
}

/**
 * Up to eight levels are drawn as ticks, and those that were reached are filled. Otherwise the cell
 * has only the text.
 */
function levelCell(r) {
  if (!r.max_level) return NONE;
  const level = r.level ?? 0, text = `${level}/${r.max_level}`;
  if (r.max_level > 8 || r.max_level < 2) return text;
  const ticks =
      Array.from({ length: r.max_level }, (_, i) => h('i', { class: i < level ? 'on' : null }));
  return [h('span', { class: 'levels', 'aria-hidden': 'true' }, ticks), text];
}

/** How much a trial counts in the ensemble that ships; nothing where it is no member. */
function weightOf(weight) {
  if (weight === undefined) return [];
  const title = 'Weight in the ensemble that ships';
  return [' ', h('span', { class: 'weight', title }, percent(weight, 1))];
}

/** Makes "0.9312 ± 0.0021" with as many decimals as the column has. */
function scoreCell(score, se, decimals) {
  if (!Number.isFinite(score)) return [h('span', { class: 'quiet' }, NONE)];
  return [
    fixed(score, decimals),
    Number.isFinite(se) ? h('span', { class: 'se' }, ` ± ${fixed(se, decimals)}`) : null
  ];
}

/**
 * Draws a dot with its standard error. The scale reaches from the best score to the one at three
 * quarters of the ranked models.
 */
function whisker(score, se, scale) {
  const W = 72, at = (x) => 4 + (W - 8) * clamp((x - scale.lo) / (scale.hi - scale.lo || 1), 0, 1);
  if (!Number.isFinite(score)) return null;
  return s(
      'svg',
      { class: 'whisker', width: W, height: 14, viewBox: `0 0 ${W} 14`, 'aria-hidden': 'true' },
      s('line', { class: 'w-axis', x1: 2, x2: W - 2, y1: 7, y2: 7 }),
      Number.isFinite(se) ?
          s('line', { class: 'w-se', x1: at(score - se), x2: at(score + se), y1: 7, y2: 7 }) :
          null,
      s('circle', { class: 'w-dot', cx: at(score), cy: 7, r: 3 }));
}

function stateCell(r) {
  const word = reasonWord(r), text = reasonText(r);
  return [h(
      'span', { class: 'state', 'data-state': r.state, title: text || null }, r.state,
      r.cut ? h('abbr', { title: 'Ended by the time limit with its best point so far' }, ' cut') :
              null,
      word ? h('span', { class: 'why' }, ` ${word}`) : null)];
}

export function downloadLink(r, text) {
  const href = `/api/v1/trials/${r.trial}/artifact`;
  if (text) return h('a', { href, download: '' }, text);
  return h(
      'a', {
        class: 'get',
        href,
        download: '',
        title: 'Download this model',
        'aria-label': `Download the model of trial ${r.number}`
      },
      s('svg', { viewBox: '0 0 16 16', width: 15, height: 15, 'aria-hidden': 'true' }, s('path', {
          d: 'M8 2v8m0 0 3.2-3.2M8 10 4.8 6.8M2.5 13.5h11',
          fill: 'none',
          stroke: 'currentColor',
          'stroke-width': 1.5,
          'stroke-linecap': 'round',
          'stroke-linejoin': 'round'
        })));
}

function rankCell(r, look) {
  const front = r.front ? h('span', {
    class: 'front',
    role: 'img',
    'aria-label': 'on the front',
    title: 'On the front: no trial beats it in all objectives'
  },
                            '◆') :
                          null;
  if (r.rank !== null) return [front, count(r.rank)];
  return [
    front,
    look.isNew(r) ? h('span', { class: 'new', title: 'Ended since the rows were ordered' }, 'new') :
                    NONE
  ];
}

/**
 * The columns of the table.
 *
 * - name, hint: the text of the head and its tooltip.
 * - num, wide: the head is aligned to the right; it is wide.
 * - dir: the first direction of sorting, 1 = ascending.
 * - key: the field of a row to sort by.
 * - of, draw: see the top of this file.
 *
 * `look` is {decimals, scale, isNew, weights}, the last by trial of the ensemble that ships. The
 * cell with the trial's number is drawn by board.js.
 */
export const columns = [
  {
    key: 'rank',
    name: 'Rank',
    num: true,
    dir: 1,
    cell: 'num rank',
    of: (r, look) => `${r.rank} ${r.front} ${look.isNew(r)}`,
    draw: rankCell
  },
  {key: 'number', name: 'Trial', dir: 1, cell: 'trial'},
  {
    key: 'family',
    name: 'Family',
    dir: 1,
    cell: 'family',
    of: (r, look) => `${r.family} ${look.weights.get(r.number) ?? ''}`,
    draw: (r, look) => [r.family, ...weightOf(look.weights.get(r.number))]
  },
  {
    key: 'score',
    name: 'Score',
    num: true,
    wide: true,
    cell: 'num wide',
    of: (r, look) =>
        `${r.score} ${r.se} ${r.reported} ${look.decimals.score} ${look.scale.lo} ${look.scale.hi}`,
    draw: (r, look) => [h(
        'span', {class: 'score'}, whisker(r.score, r.se, look.scale),
        h('span', {},
          Number.isFinite(r.score) ? scoreCell(r.score, r.se, look.decimals.score) :
                                     reportedCell(r, look.decimals.score)))]
  },
  {
    key: 'test_score',
    name: 'Test score',
    num: true,
    cell: 'num',
    of: (r, look) => `${r.test_score} ${r.test_se} ${look.decimals.test_score}`,
    draw: (r, look) => scoreCell(r.test_score, r.test_se, look.decimals.test_score)
  },
  {
    key: 'level',
    name: 'Resource',
    num: true,
    dir: -1,
    hint: 'Level reached of the family’s ladder',
    cell: 'num',
    of: (r) => `${r.level}/${r.max_level}`,
    draw: levelCell
  },
  {
    key: 'fit_us',
    name: 'Fit time',
    num: true,
    dir: 1,
    cell: 'num',
    of: (r) => micros(r.fit_us),
    draw: (r) => micros(r.fit_us)
  },
  {
    key: 'predict_ns_row',
    name: 'Predict/row',
    num: true,
    dir: 1,
    cell: 'num',
    of: (r) => nanos(r.predict_ns_row),
    draw: (r) => nanos(r.predict_ns_row)
  },
  {
    key: 'model_bytes',
    name: 'Size',
    num: true,
    dir: 1,
    cell: 'num',
    of: (r) => bytes(r.model_bytes),
    draw: (r) => bytes(r.model_bytes)
  },
  {
    key: 'state',
    name: 'State',
    dir: 1,
    cell: null,
    of: (r) => `${r.state} ${r.reason} ${r.cut} ${r.detail}`,
    draw: stateCell
  },
  {
    key: 'artifact',
    name: '',
    cell: 'act',
    of: (r) => String(Boolean(r.artifact)),
    draw: (r) => (r.artifact ? [downloadLink(r)] : [])
  },
];
