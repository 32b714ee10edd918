// importance.js - the card with the importance of parameters, as bars. The method is PED-ANOVA,
// which is computed again as trials end, or fANOVA if the user chooses it. While the server is
// still computing, the page asks again until the result is there.

import * as api from './api.js';
import {h, replace, setText} from './dom.js';
import {count, fixed} from './format.js';

const SHOWN = 10, AGAIN_MS = 700, FEW = 40;
const methods = [
  ['ped_anova', 'PED-ANOVA', 'What the best tenth of the trials have in common'],
  ['fanova', 'fANOVA', 'Shares of the variance over the whole space']
];

function rowOf(p, most) {
  const fill = h('span', { class: 'share-fill' }), dot = p.name.indexOf('.');
  fill.style.width = `${100 * p.importance / most}%`;
  return h(
      'tr', {},
      h('th', { scope: 'row' },
        dot < 0 ? p.name :
                  [
                    h('span', { class: 'quiet' }, p.name.slice(0, dot + 1)),
                    p.name.slice(dot + 1).replaceAll('_', ' ')
                  ]),
      h('td', { class: 'share', 'aria-hidden': 'true' }, fill),
      h('td', { class: 'num' }, `${fixed(100 * p.importance, 1)} %`));
}

export function makeImportance(path, showError) {
  const body = h('tbody'), note = h('p', { class: 'sub' });
  const table =
      h('table', { class: 'shares' }, h('caption', { class: 'unseen' }, 'Importance of parameters'),
        h('thead', { class: 'unseen' },
          h('tr', {}, ['Parameter', 'Bar', 'Importance'].map((t) => h('th', { scope: 'col' }, t)))),
        body);
  const more = h('button', {
    type: 'button',
    class: 'plain link',
    hidden: true,
    onclick: () => {
      isAll = !isAll;
      draw();
    }
  });
  const select =
      h('select', {
        'aria-label': 'Method',
        onchange: () => {
          answer = null;
          draw();
          refresh();
        }
      },
        methods.map(([key, name, hint]) => h('option', { value: key, title: hint }, name)));
  let answer = null, isAll = false, asked = null, timer = null;

  function draw() {
    const all = answer?.parameters || [], shown = isAll ? all : all.slice(0, SHOWN);
    const most = Math.max(1e-9, ...all.map((p) => p.importance));
    replace(body, shown.map((p) => rowOf(p, most)));
    more.hidden = all.length <= SHOWN;
    setText(more, isAll ? 'Show fewer' : `Show all ${count(all.length)}`);
    const hint = methods.find(([key]) => key === select.value)[2];
    if (!answer)
      setText(note, 'Asking…');
    else if (!all.length)
      setText(
          note,
          answer.state === 'computing' ? 'Being computed…' : 'Too few trials have ended to tell.');
    else
      setText(note, [
        `${hint}, ${count(answer.trials)} trials${answer.trials < FEW ? ': a first guess' : ''}`,
        answer.state === 'computing' ? 'a newer one is being made' : '',
        Number.isFinite(answer.main_effects) ?
            `${
                fixed(
                    100 * answer.main_effects,
                    0)} % by single parameters, the rest are interactions` :
            ''
      ].filter(Boolean).join(' · '));
  }

  async function refresh() {
    const method = select.value;
    clearTimeout(timer);
    asked?.abort();
    asked = new AbortController();
    try {
      const got = await api.get(`${path}/importance?method=${method}`, asked.signal);
      if (method !== select.value) return;
      if (got.parameters.length || !answer || answer.method !== method) answer = got;
      if (got.state === 'computing')
        timer = setTimeout(refresh, AGAIN_MS);
      else
        answer = got;
      draw();
    } catch (err) {
      if (err.name !== 'AbortError') showError(err);
    }
  }

  draw();
  return {
    box:
        h('section', { class: 'card', 'aria-labelledby': 'importance-head' },
          h('div', { class: 'bar tight' }, h('h2', { id: 'importance-head' }, 'Importance'),
            h('span', { class: 'grow' }), select),
          table, more, note),
    refresh,
    stop() {
      clearTimeout(timer);
      asked?.abort();
    },
  };
}
