// budget.js - the progress of a study: its trials by state, and the used and remaining budget. It
// also draws the small bars for both, which the list of studies and the view of a study share.

import {h} from './dom.js';
import {count, duration, percent} from './format.js';

const ENDS = ['completed', 'pruned', 'failed', 'cancelled'];
const STATES = ['running', 'paused', 'queued', ...ENDS];

export function ended(study) {
  return ENDS.reduce((n, s) => n + (study.trials?.[s] || 0), 0);
}

export function isOver(study) {
  return ['completed', 'stopped', 'failed'].includes(study.state);
}

/**
 * Returns the milliseconds that a study has used until now. `age` is the time since it was fetched.
 */
export function usedMs(study, age) {
  const runs = study.state === 'running' || study.state === 'finishing';
  return (study.used_ms || 0) + (runs && study.used_ms ? age : 0);
}

/**
 * Returns the used share, 0 to 1, of the limit that is nearest to its end, or null if there is no
 * limit.
 */
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
  return h(
      'span', {
        class: 'meter',
        'data-over': over,
        role: 'progressbar',
        'aria-label': label,
        'aria-valuemin': 0,
        'aria-valuemax': 100,
        'aria-valuenow': Math.round(100 * (part || 0))
      },
      bar);
}

/** Draws the trials by state as one thin bar, with a label that gives the numbers in words. */
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

/** Returns a text such as "13 failed (65 %)", a share of the ended trials, or null. */
export function failedText(study) {
  const failed = study.trials?.failed || 0;
  return failed ? `${count(failed)} failed (${percent(failed, ended(study))})` : null;
}
