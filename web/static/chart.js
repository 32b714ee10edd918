// chart.js - one small picture: each trial's score by its number, and the best so far as a step line. Canvas,
// because it must take 10,000 points; colours come from the style sheet; the text for those who cannot
// see it is kept beside it. Scores far below the good ones sit at the lower edge instead of flattening all.

import { h, setText } from './dom.js';
import { clamp, count, decimalsFor, fixed } from './format.js';

const HEIGHT = 168, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 26;
const FAMILIES = 8;

function niceStep(span, ticks) {
  const raw = span / ticks, base = 10 ** Math.floor(Math.log10(raw));
  return base * ([1, 2, 2.5, 5, 10].find((m) => m * base >= raw) || 10);
}

function ticksOf(lo, hi, n) {
  const step = niceStep(hi - lo || 1, n), out = [];
  for (let x = Math.ceil(lo / step) * step; x <= hi + step * 1e-9; x += step) out.push(x);
  return { out, decimals: clamp(Math.ceil(-Math.log10(step) - 1e-9) + (String(step).includes('25') ? 1 : 0), 0, 6) };
}

export function makeChart() {
  const canvas = h('canvas', { role: 'img', 'aria-label': 'Best score so far' });
  const tip = h('div', { class: 'tip', hidden: true });
  const legend = h('p', { class: 'legend' });
  const box = h('div', { class: 'chart' }, canvas, tip);
  let points = [], isLower = false, hover = null, families = [], map = null;

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return { ink: get('--ink'), quiet: get('--quiet'), line: get('--line'), accent: get('--accent'),
      surface: get('--surface'), series: Array.from({ length: FAMILIES }, (_, i) => get(`--series-${i + 1}`)) };
  }

  /** The scale spans the best score and the better nine tenths. */
  function spanY() {
    const lower = isLower;
    const by = points.map((p) => p.score).sort((a, b) => (lower ? a - b : b - a));
    const best = by[0];
    let edge = by[Math.max(0, Math.ceil(by.length * 0.9) - 1)];
    if (edge === best) edge = by[by.length - 1];
    const pad = Math.abs(best - edge) * 0.12 || Math.abs(best) * 0.01 || 1;
    return lower ? [best - pad, edge + pad] : [edge - pad, best + pad];
  }

  function layout(width) {
    const [lo, hi] = spanY(), last = Math.max(2, points[points.length - 1].number);
    return { lo, hi, last, width,
      x: (n) => LEFT + (width - LEFT - RIGHT) * (n - 1) / (last - 1),
      y: (v) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - clamp((v - lo) / (hi - lo), 0, 1)) };
  }

  function axes(g, c, m) {
    const ys = ticksOf(m.lo, m.hi, 5), xs = ticksOf(1, m.last, clamp(Math.floor(m.width / 110), 2, 8));
    g.font = '11.5px system-ui, sans-serif';
    g.fillStyle = c.quiet;
    g.strokeStyle = c.line;
    g.lineWidth = 1;
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const v of ys.out) {
      const y = Math.round(m.y(v)) + 0.5;
      g.beginPath();
      g.moveTo(LEFT, y);
      g.lineTo(m.width - RIGHT, y);
      g.stroke();
      g.fillText(fixed(v, ys.decimals), LEFT - 8, y);
    }
    g.textAlign = 'center';
    g.textBaseline = 'alphabetic';
    for (const n of xs.out) if (Number.isInteger(n) && n >= 1) g.fillText(count(n), m.x(n), HEIGHT - 7);
  }

  function bestLine(g, c, m) {
    const lower = isLower;
    let best = null;
    g.strokeStyle = c.accent;
    g.lineWidth = 2;
    g.lineJoin = 'round';
    g.beginPath();
    for (const p of points) {
      if (best !== null && (lower ? p.score >= best : p.score <= best)) continue;
      if (best === null) g.moveTo(m.x(p.number), m.y(p.score));
      else {
        g.lineTo(m.x(p.number), m.y(best));
        g.lineTo(m.x(p.number), m.y(p.score));
      }
      best = p.score;
    }
    g.lineTo(m.x(m.last), m.y(best));
    g.stroke();
  }

  function dots(g, c, m) {
    const r = points.length > 3000 ? 1.4 : points.length > 500 ? 2 : 2.8;
    g.globalAlpha = points.length > 500 ? 0.5 : 0.8;
    for (const p of points) {
      g.fillStyle = c.series[families.indexOf(p.family) % FAMILIES];
      g.beginPath();
      g.arc(m.x(p.number), m.y(p.score), r, 0, 7);
      g.fill();
    }
    g.globalAlpha = 1;
    if (!hover) return;
    g.fillStyle = c.series[families.indexOf(hover.family) % FAMILIES];
    g.strokeStyle = c.ink;
    g.lineWidth = 1.5;
    g.beginPath();
    g.arc(m.x(hover.number), m.y(hover.score), r + 2.5, 0, 7);
    g.fill();
    g.stroke();
  }

  function draw() {
    const width = box.clientWidth, ratio = window.devicePixelRatio || 1, g = canvas.getContext('2d');
    if (!width) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
    canvas.style.height = `${HEIGHT}px`;
    g.scale(ratio, ratio);
    if (!points.length) return;
    const c = colours();
    map = layout(width);
    axes(g, c, map);
    dots(g, c, map);
    bestLine(g, c, map);
  }

  function onMove(e) {
    if (!map || !points.length) return;
    const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
    let near = null, least = 30 * 30;
    for (const p of points) {
      const d = (map.x(p.number) - x) ** 2 + (map.y(p.score) - y) ** 2;
      if (d < least) near = p, least = d;
    }
    if (near === hover) return;
    hover = near;
    tip.hidden = !near;
    if (near) {
      setText(tip, `#${near.number} ${near.family} ${fixed(near.score, decimalsFor(near.score, near.se))}`);
      tip.style.left = `${clamp(map.x(near.number), 70, map.width - 70)}px`;
      tip.style.top = `${map.y(near.score)}px`;
    }
    draw();
  }

  canvas.addEventListener('pointermove', onMove);
  canvas.addEventListener('pointerleave', () => { hover = null; tip.hidden = true; draw(); });
  const resized = new ResizeObserver(draw);
  resized.observe(box);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', draw);

  return {
    box,
    legend,
    update(rows, lowerIsBetter) {
      isLower = lowerIsBetter;
      points = rows.filter((r) => Number.isFinite(r.score)).sort((a, b) => a.number - b.number);
      const names = [...new Set(points.map((p) => p.family))].sort();
      if (names.join() !== families.join()) {
        families = names;
        legend.replaceChildren(...families.map((f, i) => {
          const dot = h('i', { 'aria-hidden': 'true', class: `series-${i % FAMILIES + 1}` });
          return h('span', {}, dot, f);
        }));
      }
      const lower = isLower, best = points.reduce((b, p) => (b === null || (lower ? p.score < b.score : p.score > b.score) ? p : b), null);
      canvas.setAttribute('aria-label', best ? `Score by trial number for ${count(points.length)} trials; the best is ${fixed(best.score, decimalsFor(best.score, best.se))} by trial ${best.number}, ${best.family}` : 'No scores yet');
      draw();
    },
    stop() {
      resized.disconnect();
      dark.removeEventListener('change', draw);
    },
  };
}
