// pareto.js - the chart of the trade-off between score and cost. It shows each trial's score
// against its fit time, prediction time or model size, and the Pareto front: the trials that no
// other trial beats in both. The server computes the front; the other points are the rows of the
// leaderboard. The baseline is left out, because it costs nearly nothing and would always be on the
// front.

import * as api from './api.js';
import {areaPen, BEYOND, chartColours, mark, nearest, sizeCanvas} from './chart.js';
import {h, setText} from './dom.js';
import {bytes, clamp, count, decimalsFor, fixed, micros, nanos} from './format.js';
import {axisOf, logTicks, placeOf, thin, ticksOf} from './scale.js';

const HEIGHT = 250, LEFT = 58, RIGHT = 18, TOP = 14, BOTTOM = 28, MANY = 4000;
const facts = [
  ['fit_us', 'Fit time', micros], ['predict_ns_row', 'Predict time per row', nanos],
  ['model_bytes', 'Model size', bytes]
];

/**
 * Returns the functions that place trials in the chart. The cost has a logarithmic scale, and a
 * value that a user's program told (isTold) a linear one, because it may be of any sign. The scale
 * of scores covers the good ones; worse scores are drawn as arrows in a strip at the worse edge
 * (`isOut`), because a dot inside the frame would be read as a score.
 */
export function tradeoff(points, key, isLower, width, isTold = false) {
  const axis = axisOf(points, isLower),
        y = placeOf(axis, points, isLower, { top: TOP, bottom: HEIGHT - BOTTOM, beyond: BEYOND });
  let lo = Infinity, hi = -Infinity;
  for (const p of points) lo = Math.min(lo, p[key]), hi = Math.max(hi, p[key]);
  if (isTold) {
    const rim = (hi - lo) * 0.04 || Math.abs(hi) * 0.1 || 1;
    lo -= rim;
    hi += rim;
  } else {
    lo /= 1.25;
    hi *= 1.25;
  }
  const share = isTold ? (v) => (v - lo) / (hi - lo) : (v) => Math.log(v / lo) / Math.log(hi / lo),
        x = (v) => LEFT + (width - LEFT - RIGHT) * share(v);
  return {
    axis,
    lo,
    hi,
    width,
    x,
    y,
    px: (r) => x(r[key]),
    py: (r) => y(r.score),
    isOut: (r) => axis.isOut(r.score)
  };
}

export function makePareto(path, showError) {
  const canvas = h('canvas', { role: 'img', 'aria-label': 'Score by cost' });
  const tip = h('div', { class: 'tip', hidden: true });
  const box = h('div', { class: 'chart tall' }, canvas, tip), note = h('p', { class: 'sub' });
  const select =
      h('select', {
        'aria-label': 'Score against',
        onchange: () => {
          front = [];
          arrange();
          refresh();
        }
      },
        facts.map(([key, name]) => h('option', { value: key }, name)));
  let shown = facts, rows = [], points = [], front = [], isLower = false, hover = null, map = null,
      metric = 'score', timer = null, isStopped = false, isChosen = false;

  let told = [];
  const fact = () => shown.find(([key]) => key === select.value),
        isTold = () => told.some((o) => o.key === select.value),
        isMore = () => told.some((o) => o.key === select.value && o.goal === 'maximize'),
        has = (r, key) => Number.isFinite(r[key]) && (isTold() || r[key] > 0);

  function arrange() {
    const key = select.value;
    points = rows.filter((r) => r.family !== 'baseline' && Number.isFinite(r.score) && has(r, key));
    hover = null;
    tip.hidden = true;
    draw();
    const [, name] = fact(),
             lead = front.length ?
        `Front: ${count(front.length)} of ${
                 count(points.length)} trials, to which no other trial is better in both` :
        '';
    canvas.setAttribute(
        'aria-label',
        points.length ?
            `${metric} against ${name.toLowerCase()} for ${count(points.length)} trials. ${lead}: ${
                front
                    .map(
                        (r) => `trial ${r.number}, ${r.family}, ${
                            fixed(r.score, decimalsFor(r.score, r.se))} at ${fact()[2](r[key])}`)
                    .join('; ')}` :
            'No trials yet');
    setText(note, points.length ? lead : 'No trials yet.');
  }

  function layout(width) {
    const m = tradeoff(points, select.value, isLower, width, isTold());
    m.drawn = points.length > MANY ? thin(points, m.px, m.py, 1.5) : points;
    return m;
  }

  function axes(g, c, m) {
    areaPen(g, c);
    for (const v of m.axis.ticks) {
      const y = Math.round(m.y(v)) + 0.5;
      g.beginPath();
      g.moveTo(LEFT, y);
      g.lineTo(m.width - RIGHT, y);
      g.stroke();
      g.fillText(fixed(v, m.axis.decimals), LEFT - 8, y);
    }
    g.textAlign = 'center';
    g.textBaseline = 'alphabetic';
    let end = -Infinity;
    for (const v of isTold() ? ticksOf(m.lo, m.hi, 6) : logTicks(m.lo, m.hi)) {
      const text = fact()[2](v), half = g.measureText(text).width / 2, x = m.x(v);
      if (x - half < end + 10 || x + half > m.width) continue;
      g.fillText(text, x, HEIGHT - 8);
      end = x + half;
    }
  }

  function frontLine(g, c, m) {
    const way = isMore() ? -1 : 1,
          list = [...front].sort((a, b) => way * (a[select.value] - b[select.value]));
    if (!list.length) return;
    g.strokeStyle = c.accent;
    g.lineWidth = 1.6;
    g.lineJoin = 'round';
    g.beginPath();
    g.moveTo(m.px(list[0]), isLower ? TOP : HEIGHT - BOTTOM);
    list.forEach((r, i) => {
      if (i > 0) g.lineTo(m.px(r), m.py(list[i - 1]));
      g.lineTo(m.px(r), m.py(r));
    });
    g.lineTo(isMore() ? LEFT : m.width - RIGHT, m.py(list[list.length - 1]));
    g.stroke();
  }

  function dots(g, c, m) {
    const on = new Set(front.map((r) => r.trial)), families = [
      ...new Set(rows.filter((r) => Number.isFinite(r.score)).map((r) => r.family))
    ].sort();
    for (const p
             of [...m.drawn, ...points.filter((q) => on.has(q.trial)), ...(hover ? [hover] : [])]) {
      const is = on.has(p.trial);
      g.globalAlpha = is ? 1 : 0.55;
      g.fillStyle = c.series[families.indexOf(p.family) % c.series.length];
      mark(g, m.px(p), m.py(p), is ? 4 : 2.6, m.isOut(p), isLower);
      g.globalAlpha = 1;
      if (!is && p !== hover) continue;
      g.strokeStyle = p === hover ? c.ink : c.surface;
      g.lineWidth = 1.4;
      g.stroke();
    }
  }

  function draw() {
    const { g, width } = sizeCanvas(canvas, box, HEIGHT);
    if (!width || !points.length) return;
    const c = chartColours();
    if (map?.of !== points || map.width !== width) map = {...layout(width), of: points };
    axes(g, c, map);
    frontLine(g, c, map);
    dots(g, c, map);
  }

  function onMove(e) {
    if (!map || !points.length) return;
    const near = nearest(canvas, e, map.drawn, map.px, map.py);
    if (near === hover) return;
    hover = near;
    tip.hidden = !near;
    if (near) {
      setText(
          tip,
          `#${near.number} ${near.family} ${
              fixed(
                  near.score,
                  decimalsFor(near.score, near.se))} · ${fact()[2](near[select.value])}`);
      tip.style.left = `${clamp(map.px(near), 95, map.width - 95)}px`;
      tip.style.top = `${map.py(near)}px`;
    }
    draw();
  }

  async function refresh() {
    const x = select.value;
    clearTimeout(timer);
    try {
      const got = await api.get(`${path}/pareto?x=${x}`);
      if (isStopped || x !== select.value) return;
      front = got.rows.filter((r) => r.family !== 'baseline' && has(r, x));
      metric = got.metric || 'score';
      if (got.state === 'computing') timer = setTimeout(refresh, 700);
      arrange();
    } catch (err) {
      showError(err);
    }
  }

  canvas.addEventListener('pointermove', onMove);
  canvas.addEventListener('pointerleave', () => {
    hover = null;
    tip.hidden = true;
    draw();
  });
  const resized = new ResizeObserver(draw), dark = matchMedia('(prefers-color-scheme: dark)');
  resized.observe(box);
  dark.addEventListener('change', draw);
  return {
    box:
        h('section', { class: 'card', 'aria-labelledby': 'pareto-head' },
          h('div', { class: 'bar tight' }, h('h2', { id: 'pareto-head' }, 'Trade-off'),
            h('span', { class: 'key' }, 'Pareto front'), h('span', { class: 'grow' }), select),
          box, note),
    refresh,
    update(list, lowerIsBetter, objectives, toldOnes) {
      if (toldOnes && !told.length) {
        told = toldOnes.slice(1);
        shown = [
          ...told.map((o) => [o.key, o.metric, (v) => String(Number(v.toPrecision(4)))]), ...facts
        ];
        select.replaceChildren(...shown.map(([key, name]) => h('option', { value: key }, name)));
      }
      const cost = objectives?.find((key) => key !== 'score');
      if (cost && !isChosen) select.value = cost;
      isChosen = true;
      rows = list;
      isLower = lowerIsBetter;
      arrange();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      resized.disconnect();
      dark.removeEventListener('change', draw);
    },
  };
}
