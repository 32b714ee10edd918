// chips.js - one button for each state of trials, with the number of trials in that state. A press
// shows only these trials; a second press shows all trials again.

import {h, setAttr, setText} from './dom.js';
import {count} from './format.js';
import {CHIPS} from './order.js';

export function makeChips(onPick) {
  let picked = null;
  const all = [[null, 'All', null], ...CHIPS].map(([key, name, states]) => {
    const number = h('span', { class: 'num' }),
          button =
              h('button', {
                type: 'button',
                class: 'chip',
                'data-chip': key || 'all',
                onclick: () => pick(picked === key ? null : key)
              },
                key ? h('i', { class: 'state', 'data-state': states[0], 'aria-hidden': 'true' }) :
                      null,
                `${name} `, number);
    return { key, states, number, button };
  });
  const box =
      h('div', { class: 'chip-row', role: 'group', 'aria-label': 'Trials by state' },
        all.map((c) => c.button));

  function pick(key) {
    picked = key;
    draw();
    onPick(all.find((c) => c.key === key).states);
  }

  function draw() {
    for (const c of all) setAttr(c.button, 'aria-pressed', String(c.key === picked));
  }

  draw();
  return {
    box,
    /** trials: the numbers of trials by state, as the API gives them for a study. */
    update(trials) {
      for (const c of all) {
        const n = c.states ? c.states.reduce((sum, s) => sum + (trials[s] || 0), 0) :
                             trials.total ??
                CHIPS.reduce(
                    (sum, [, , ss]) => sum + ss.reduce((k, s) => k + (trials[s] || 0), 0), 0);
        setText(c.number, count(n));
        c.button.hidden = c.key !== null && n === 0 && c.key !== picked;
      }
    },
  };
}
