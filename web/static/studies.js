// studies.js - the first view: every study with its state, best score, trials and what is left of its budget.

import * as api from './api.js';
import { h, replace, setText } from './dom.js';
import { NONE, ago, count, decimalsFor, duration, fixed, when } from './format.js';

const ENDS = ['completed', 'pruned', 'failed', 'cancelled'];
export const STATES = ['running', 'paused', 'queued', ...ENDS];

export function ended(study) {
  return ENDS.reduce((n, s) => n + (study.trials?.[s] || 0), 0);
}

export function isOver(study) {
  return ['completed', 'stopped', 'failed'].includes(study.state);
}

/** Milliseconds of its clock that a study has used, now; age = since it was fetched. */
export function usedMs(study, age) {
  const runs = study.state === 'running' || study.state === 'finishing';
  return (study.used_ms || 0) + (runs && study.used_ms ? age : 0);
}

/** 0..1 of the budget that is nearest to its end, or null when there is none. */
export function progress(study, age) {
  const b = study.budget || {};
  const parts = [];
  if (b.trials) parts.push(ended(study) / b.trials);
  if (b.time_ms) parts.push(usedMs(study, age) / b.time_ms);
  if (isOver(study)) return 1;
  return parts.length ? Math.min(1, Math.max(...parts)) : null;
}

export function leftText(study, age) {
  const b = study.budget || {};
  if (isOver(study)) return b.time_ms || study.used_ms ? `took ${duration(study.used_ms)}` : '';
  const parts = [];
  if (b.time_ms) parts.push(`${duration(Math.max(0, b.time_ms - usedMs(study, age)))} left`);
  if (b.trials) parts.push(`${count(Math.max(0, b.trials - ended(study)))} trials left`);
  return parts.join(', ');
}

export function pill(state) {
  return h('span', { class: 'pill', 'data-state': state }, state);
}

export function meter(part, label, over) {
  const bar = h('span', { class: 'meter-fill' });
  bar.style.width = `${(100 * (part || 0)).toFixed(1)}%`;
  return h('span', { class: 'meter', 'data-over': over, role: 'progressbar', 'aria-label': label, 'aria-valuemin': 0,
    'aria-valuemax': 100, 'aria-valuenow': Math.round(100 * (part || 0)) }, bar);
}

/** Trials by state as one thin bar with its numbers in words. */
export function trialsBar(trials) {
  const known = STATES.filter((s) => trials?.[s] > 0);
  const total = known.reduce((n, s) => n + trials[s], 0);
  const words = known.map((s) => `${count(trials[s])} ${s}`).join(', ') || 'none yet';
  const bar = h('span', { class: 'split', role: 'img', 'aria-label': words, title: words });
  for (const state of known) {
    const part = h('span', { 'data-state': state });
    part.style.flexGrow = trials[state];
    bar.append(part);
  }
  return h('span', { class: 'split-cell' }, h('span', { class: 'num' }, count(total)), bar);
}

function bestCell(study) {
  const best = study.best;
  if (!best || !Number.isFinite(best.score)) return h('td', { class: 'num quiet' }, NONE);
  return h('td', { class: 'num' }, h('strong', {}, fixed(best.score, decimalsFor(best.score, best.se))),
    h('span', { class: 'sub' }, [study.metric, best.family].filter(Boolean).join(' · ')));
}

function row(study, age) {
  const part = progress(study, age);
  return h('tr', {},
    h('th', { scope: 'row' }, h('a', { href: `#/studies/${study.id}` }, study.name),
      h('span', { class: 'sub' }, study.dataset_name || study.dataset || '', study.target ? ` → ${study.target}` : '')),
    h('td', {}, pill(study.state)),
    bestCell(study),
    h('td', {}, trialsBar(study.trials)),
    h('td', {}, part === null ? null : meter(part, `${study.name}: budget used`, isOver(study)),
      h('span', { class: 'sub' }, leftText(study, age))),
    h('td', { class: 'num quiet', title: when(study.created_at) }, ago(study.created_at)));
}

function empty() {
  return h('section', { class: 'empty' }, h('h2', {}, 'No studies yet'),
    h('p', {}, 'Point Assay at a table and say which column to predict, here (New study) or in a terminal:'),
    h('pre', {}, h('code', {}, 'assay data add train.csv --name mytable\nassay submit spec.yaml --follow')),
    h('p', { class: 'quiet' }, 'They appear here by themselves.'));
}

export function studiesView(root, params, showError) {
  let studies = [], fetched = 0, archived = false, filter = '';
  const body = h('tbody');
  const heads = ['Study', 'State', 'Best score', 'Trials', 'Budget', 'Created'];
  const table = h('table', { class: 'list' }, h('caption', { class: 'unseen' }, 'Studies'),
    h('thead', {}, h('tr', {}, heads.map((t, i) => h('th', { scope: 'col', class: i === 2 || i === 5 ? 'num' : null }, t)))), body);
  const holder = h('div', { class: 'card flush' }, table);
  const total = h('span', { class: 'quiet' });
  const search = h('input', { type: 'search', placeholder: 'Filter by name or state', 'aria-label': 'Filter studies',
    oninput: () => { filter = search.value.toLowerCase(); draw(); } });
  const box = h('input', { type: 'checkbox', onchange: () => { archived = box.checked; refresh(); } });

  function draw() {
    const age = performance.now() - fetched;
    const shown = studies.filter((s) => `${s.name} ${s.state} ${s.target || ''} ${s.dataset_name || ''}`.toLowerCase().includes(filter));
    setText(total, studies.length ? `${count(shown.length)} of ${count(studies.length)}` : '');
    if (studies.length === 0) replace(holder, empty());
    else {
      const held = body.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
      replace(body, shown.map((s) => row(s, age)));
      if (table.parentNode !== holder) replace(holder, table);
      if (held) body.querySelector(`a[href="${held}"]`)?.focus({ preventScroll: true });
    }
  }

  async function load() {
    try {
      const all = [];
      for (let after = 0; ;) {
        const page = (await api.get(`/studies?limit=500&after=${after}${archived ? '&archived=true' : ''}`)).studies;
        all.push(...page);
        if (page.length < 500) break;
        after = page[page.length - 1].id;
      }
      studies = all.sort((a, b) => b.id - a.id);
      fetched = performance.now();
      draw();
    } catch (err) {
      showError(err);
    }
  }

  const refresh = api.throttled(300, load);
  const tick = setInterval(() => { if (!studies.every(isOver)) draw(); }, 1000);
  document.title = 'Studies · Assay';
  root.append(h('div', { class: 'bar' }, h('h1', {}, 'Studies'), total, h('span', { class: 'grow' }), search,
    api.mayWrite() ? h('a', { class: 'button primary', href: '#/new' }, 'New study') : null,
    h('label', { class: 'check' }, box, ' archived')), holder);
  load();
  return { refresh, onEvent: refresh, stop: () => { clearInterval(tick); refresh.stop(); } };
}
