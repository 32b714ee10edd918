// output.js - what the program of an opened trial prints, as it comes. Pieces are asked for by
// their number, so that each is sent once. The text follows its end unless the user has scrolled
// up.

import {h, replace, setText} from './dom.js';

/** Only so much text stays on the page; `assay logs` shows all of it. */
const MOST = 200000;

/** Makes the part of an opened trial that shows its output; it is hidden until there is some. */
export function makeOutput() {
  const about = h('p', { class: 'quiet' });
  const box =
      h('pre',
        { class: 'output-box', tabindex: 0, role: 'log', 'aria-label': 'Output of the program' });
  const el =
      h('section', { class: 'output', hidden: true, 'aria-label': 'Output' }, h('h4', {}, 'Output'),
        box, about);
  let next = 0, length = 0, isCut = false;

  function add(text) {
    box.append(text);
    length += text.length;
    while (length > MOST && box.childNodes.length > 1) {
      length -= box.firstChild.textContent.length;
      box.firstChild.remove();
      isCut = true;
    }
  }

  return {
    el,
    /** The number of the last piece that is shown. */
    next: () => next,
    clear() {
      next = length = 0;
      isCut = false;
      el.hidden = true;
      replace(box);
    },
    /** Shows an answer of /trials/ID/output. */
    update(answer) {
      const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 24;
      for (const p of answer.pieces.filter((x) => x.piece > next)) add(p.text);
      next = Math.max(next, answer.next);
      el.hidden = length === 0;
      setText(
          about,
          `${isCut ? 'The first part is left out. ' : ''}${
              answer.live ? 'More may come.' : 'The trial has ended.'}`);
      if (isAtEnd) box.scrollTop = box.scrollHeight;
    },
  };
}
