// search.js - the card that shows how a study searches. It names the sampler and the scheduler, and
// gives the reason if `auto` chose them. A table shows the rungs of each bracket and how many
// trials are at each rung. The bars of one bracket share one scale.

import {h, replace} from './dom.js';
import {count, decimalsFor, fixed, NONE} from './format.js';

// The four counts of a rung: its key in the API, its colour, its words in the bar's label.
const PARTS = [
  ['promoted', 'promoted', 'went on'], ['running', 'running', 'running to it'],
  ['waiting', 'paused', 'waiting'], ['done', 'ended', 'ended here']
];

function total(rung) {
  return PARTS.reduce((n, [key]) => n + (rung[key] || 0), 0);
}

function bar(rung, most) {
  const known = PARTS.filter(([key]) => rung[key] > 0);
  const words =
      known.map(([key, , text]) => `${count(rung[key])} ${text}`).join(', ') || 'no trials yet';
  const box = h('span', { class: 'rung-bar', role: 'img', 'aria-label': words, title: words });
  for (const [key, state] of known) {
    const part = h('span', { 'data-rung': state });
    part.style.width = `${100 * rung[key] / most}%`;
    box.append(part);
  }
  return box;
}

/** Returns a name such as "boost · bracket 2", or only the family if it has a single bracket. */
function nameOf(bracket, all) {
  const alone = all.filter((b) => b.family === bracket.family).length === 1;
  return alone ? bracket.family : `${bracket.family} · bracket ${bracket.bracket + 1}`;
}

function group(bracket, all) {
  const most = Math.max(1, ...bracket.rungs.map((r) => Math.max(total(r), r.size || 0)));
  const cell = (n) => h('td', { class: n ? 'num' : 'num quiet' }, n ? count(n) : NONE);
  return h(
      'tbody', {},
      h('tr', { class: 'ladder' },
        h('th', { scope: 'rowgroup', colspan: 8 }, nameOf(bracket, all))),
      bracket.rungs.map(
          (r) => h(
              'tr', {}, h('th', { scope: 'row' }, `${r.level}/${bracket.max_level}`),
              h('td', { class: 'num quiet' },
                `${fixed(100 * r.resource, r.resource < 0.0995 ? 1 : 0)} %`),
              h('td', { class: 'rung-cell' }, bar(r, most)), ...PARTS.map(([key]) => cell(r[key])),
              h('td', { class: 'num' },
                Number.isFinite(r.best) ? fixed(r.best, decimalsFor(r.best)) : NONE))));
}

const isLive = (b) => b.rungs.some((r) => r.running || r.waiting);

export function makeSearch() {
  const chosen = h('dl', { class: 'chosen' });
  const table = h(
      'table', { class: 'rungs' },
      h('caption', { class: 'unseen' }, 'Rungs: where trials are compared'),
      h('thead', {},
        h('tr', {},
          ['Level', 'Cost', 'Trials', 'Went on', 'Running', 'Waiting', 'Ended', 'Best'].map(
              (t, i) => h(
                  'th', { scope: 'col', class: i === 0 || i === 2 ? null : 'num' },
                  PARTS[i - 3] ?
                      h('i',
                        { class: 'swatch', 'data-rung': PARTS[i - 3][1], 'aria-hidden': 'true' }) :
                      null,
                  t)))));
  const scroller =
      h('div', {
        class: 'rungs-box',
        tabindex: 0,
        role: 'region',
        'aria-label': 'Brackets and rungs',
        hidden: true
      },
        table);
  const note = h('p', { class: 'sub' });
  let drawn = '';

  function one(name, value, why) {
    const reason = why ? why.replace(/^auto: /, '') : null;
    return h(
        'div', {}, h('dt', {}, name),
        h('dd', {}, h('strong', {}, value || NONE),
          reason ?
              [
                ' ', h('span', { class: 'tag', title: 'Chosen by auto' }, 'auto'),
                h('span', { class: 'sub' }, reason)
              ] :
              null));
  }

  return {
    box:
        h('section', { class: 'card search', 'aria-labelledby': 'search-head' },
          h('div', { class: 'bar tight' }, h('h2', { id: 'search-head' }, 'Search')), chosen,
          scroller, note),
    update(study) {
      const key = JSON.stringify([
        study.sampler, study.sampler_why, study.scheduler, study.scheduler_why, study.resource,
        study.brackets
      ]);
      if (key === drawn) return;
      drawn = key;
      replace(
          chosen, one('Sampler', study.sampler, study.sampler_why),
          one('Scheduler', study.scheduler, study.scheduler_why),
          study.resource && study.resource !== 'auto' ? one('Resource', study.resource) : null);
      const all = study.brackets || [];
      scroller.hidden = !all.length;
      note.hidden = Boolean(all.length);
      note.textContent = study.scheduler === 'none' || !study.scheduler ?
          'Every trial runs to its full resource.' :
          'There are no rungs to show.';
      for (const old of table.querySelectorAll('tbody')) old.remove();
      const live = all.filter(isLive), rest = all.filter((b) => !isLive(b));
      table.append(...[...live, ...rest.reverse()].map((b) => group(b, all)));
    },
  };
}
