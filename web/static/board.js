// board.js - the leaderboard. The table is fast with 100,000 rows because only the rows in sight
// exist as elements. All rows have the same height. An opened row has its details in a further row
// below it. Each trial in sight keeps its element, and changes are patched into it. While somebody
// reads the table (hold.js) no row moves: new results are counted and wait.

import {columns} from './cells.js';
import {makeDetail} from './detail.js';
import {arrange, h, patch, setAttr, setText} from './dom.js';
import {clamp, columnDecimals, count} from './format.js';
import {makeHold, waitingText} from './hold.js';
import {Order} from './order.js';

const ROW = 38, MORE = 8, FRESH_MS = 1500, ENDS = ['completed', 'pruned', 'failed', 'cancelled'];

export function makeBoard({caption, trials, onOpen, onVariant, onSight, onTestOrder}) {
  const order = new Order(), pending = new Set(), fresh = new Map(), elements = new Map();
  const look = {
    decimals: { score: 4, test_score: 4 },
    scale: { lo: 0, hi: 1 },
    isNew: (r) => r.rank === null && Number.isFinite(r.score),
    weights: new Map()
  };
  let opened = null, openedHeight = 0, told = '', emptyText = 'Asking…';

  const top = h(
            'tr', { class: 'space', 'aria-hidden': 'true' }, h('td', { colspan: columns.length })),
        bottom = top.cloneNode(true);
  const none = h('tr', { class: 'none' }, h('td', { colspan: columns.length }));
  const body = h('tbody', {}, top, bottom), detail = makeDetail(columns.length, { onVariant });
  const heads = columns.map((c) => {
    if (!c.name) return h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Model'));
    const button =
        h('button', { type: 'button', onclick: () => sortBy(c), title: c.hint || null },
          h('span', {}, c.name), h('span', { class: 'arrow', 'aria-hidden': 'true' }));
    return h(
        'th', {
          scope: 'col',
          class: [c.num && 'num', c.wide && 'wide'].filter(Boolean).join(' ') || null,
          'aria-sort': 'none'
        },
        button);
  });
  const table =
      h('table', { class: 'board' }, h('caption', { class: 'unseen' }, caption),
        h('thead', {}, h('tr', {}, heads)), body);
  const scroller =
      h('div', { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': caption }, table);
  const shown = h('span', { class: 'quiet num', id: 'board-count' });
  const news = h('button', {
    type: 'button',
    class: 'news',
    hidden: true,
    onclick: () => {
      settle();
      scroller.scrollTop = 0;
      scroller.focus({ preventScroll: true });
    }
  });
  const hold =
      makeHold(scroller, { scroller, isHeld: () => opened !== null, onFree: () => settle() });

  function sortBy(column) {
    const first = column.dir || (order.isLower ? 1 : -1);
    order.ask(
        { sortDir: order.sortKey === column.key ? -order.sortDir : first, sortKey: column.key });
    settle();
    if (column.key === 'test_score') onTestOrder?.();
  }

  /** Computes what all rows share: the decimals of the columns and the scale of the whiskers. */
  function measure() {
    const models = order.ranked.filter((r) => r.family !== 'baseline'),
          sign = order.isLower ? 1 : -1, first = order.ranked.slice(0, 50);
    const margin = Math.max(0, ...first.slice(0, 20).map((r) => r.se).filter(Number.isFinite));
    const worst = models[Math.max(1, Math.ceil(models.length * 0.75) - 1)] || models[0];
    look.scale =
        models.length ? { lo: worst.score, hi: models[0].score - sign * margin } : { lo: 0, hi: 1 };
    look.decimals = {
      score: columnDecimals(first, 'score', 'se'),
      test_score: columnDecimals(
          first.filter((r) => Number.isFinite(r.test_score)), 'test_score', 'test_se')
    };
  }

  /** Moves all rows that changed to their places in the order. */
  function settle() {
    order.apply(pending, () => trials.rows());
    pending.clear();
    measure();
    if (opened !== null && !order.passes(opened)) opened = null;
    columns.forEach((c, i) => {
      if (c.name)
        setAttr(
            heads[i], 'aria-sort',
            c.key !== order.sortKey ? 'none' :
                order.sortDir > 0   ? 'ascending' :
                                      'descending');
    });
    drawCount();
    draw();
  }

  function drawCount() {
    const isAll = order.shown.length === trials.size;
    setText(
        shown,
        isAll ? count(trials.size) : `${count(order.shown.length)} of ${count(trials.size)}`);
    let waits = 0;
    for (const r of pending)
      if (r.state !== r.settled && ENDS.includes(r.state) && order.passes(r)) waits++;
    news.hidden = waits === 0;
    setText(news, waitingText(waits, 'result', 'results'));
  }

  function elementOf(r) {
    let el = elements.get(r);
    if (el) return el;
    const button =
        h('button', {
          type: 'button',
          class: 'plain expand',
          'data-trial': r.number,
          'aria-label': `Trial ${r.number}, configuration`,
          onclick: (e) => {
            e.stopPropagation();
            toggle(r);
          }
        },
          `#${r.number}`);
    const cells =
        columns.map((c) => h('td', { class: c.cell }, c.key === 'number' ? button : null));
    const tr =
        h('tr', {
          onclick: (e) => {
            if (!e.target.closest('a') && getSelection().isCollapsed) toggle(r);
          }
        },
          cells);
    el = { tr, cells, button };
    elements.set(r, el);
    return el;
  }

  function patchRow(r, index) {
    const el = elementOf(r), isOpen = opened === r;
    columns.forEach((c, i) => {
      if (c.draw) patch(el.cells[i], c.of(r, look), () => c.draw(r, look));
    });
    setAttr(el.tr, 'aria-rowindex', index + 2);
    setAttr(
        el.tr, 'class',
        [r.rank === 1 && 'best', isOpen && 'open', fresh.has(r) && 'fresh'].filter(Boolean).join(
            ' ') ||
            null);
    setAttr(el.button, 'aria-expanded', String(isOpen));
    return el.tr;
  }

  function toggle(r) {
    opened = opened === r ? null : r;
    openedHeight = 0;
    draw();
    if (opened) onOpen?.(opened);
    elements.get(r)?.button.focus({ preventScroll: true });
  }

  /**
   * Draws the rows in sight and a few above and below them. Two spacer rows take the height of all
   * other rows.
   */
  function draw() {
    const headHeight = table.tHead.offsetHeight || ROW, list = order.shown,
          openAt = opened === null ? -1 : list.indexOf(opened);
    let y = scroller.scrollTop - headHeight;
    if (openAt >= 0 && y > (openAt + 1) * ROW + openedHeight) y -= openedHeight;
    const first = clamp(Math.floor(y / ROW) - MORE, 0, Math.max(0, list.length - 1));
    const last =
        Math.min(list.length, first + Math.ceil((scroller.clientHeight || 600) / ROW) + 2 * MORE);
    const wanted = [], seen = new Set(), lacking = [];
    for (let i = first; i < last; i++) {
      wanted.push(patchRow(list[i], i));
      seen.add(list[i]);
      if (!list[i].isWhole) lacking.push(list[i].number);
      if (i === openAt) {
        detail.update(opened);
        wanted.push(detail.tr);
      }
    }
    for (const r of elements.keys())
      if (!seen.has(r)) elements.delete(r);
    top.firstChild.style.height =
        `${first * ROW + (openAt >= 0 && openAt < first ? openedHeight : 0)}px`;
    bottom.firstChild.style.height =
        `${(list.length - last) * ROW + (openAt >= last ? openedHeight : 0)}px`;
    setAttr(table, 'aria-rowcount', list.length + 1);
    if (!list.length) {
      setText(none.firstChild, trials.size ? 'No trial matches.' : emptyText);
      wanted.push(none);
    }
    const held = body.contains(document.activeElement) ? document.activeElement : null;
    arrange(body, top, bottom, wanted);
    if (held && held !== document.activeElement && body.contains(held))
      held.focus({ preventScroll: true });
    if (openAt >= first && openAt < last) openedHeight = detail.tr.offsetHeight;
    const key = lacking.join();
    if (lacking.length && key !== told) onSight?.(lacking);
    told = key;
  }

  let asked = false;
  scroller.addEventListener('scroll', () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  }, { passive: true });
  const resized = new ResizeObserver(() => draw());
  resized.observe(scroller);

  return {
    scroller,
    shown,
    news,
    order,
    /**
     * Takes rows that changed; null means all rows. `lower`: lower scores are better. With `isLive`
     * the changes are new results, which wait while somebody reads; otherwise they are rows that
     * the page reads for the first time, and they are shown at once.
     */
    update(changed, lower, isLive) {
      const now = performance.now();
      if (changed === null || lower !== order.isLower)
        order.ask({ isLower: lower });
      else
        for (const r of changed) pending.add(r);
      for (const [r, at] of fresh)
        if (now - at > FRESH_MS) fresh.delete(r);
      if (isLive && order.ranked.length && !order.isStale && hold.isRead()) {
        hold.wait();
        drawCount();
        draw();
        return;
      }
      if (isLive)
        for (const r of pending)
          if (r.settled === undefined) fresh.set(r, now);
      settle();
    },
    /**
     * Chooses which rows are shown: those that pass `test` and have a state in `chip` (null = any).
     */
    choose(test, chip) {
      order.ask({ test, chip });
      scroller.scrollTop = 0;
      settle();
    },
    redraw: draw,
    /** Marks the members of the ensemble that ships: {number, weight} of each. */
    mark(members) {
      if (members.length === 0 && look.weights.size === 0) return;
      look.weights = new Map(members.map((m) => [m.number, m.weight]));
      draw();
    },
    say(text) {
      emptyText = text;
      draw();
    },
    /** Shows the complete answer of the API about the opened trial. */
    show(r, trial, pictures) {
      if (opened !== r) return;
      detail.show(r, trial, pictures);
      openedHeight = 0;
      draw();
    },
    /** Shows the epochs of the opened trial. */
    showEpochs(r, answer) {
      if (opened !== r) return;
      detail.showEpochs(r, answer);
      openedHeight = 0;
      draw();
    },
    /** Shows what the program of the opened trial printed after piece outputAt. */
    showOutput(r, answer) {
      if (opened !== r) return;
      detail.showOutput(r, answer);
      openedHeight = 0;
      draw();
    },
    outputAt: (r) => (opened === r ? detail.outputAt(r) : 0),
    /** Shows the pipeline of the opened trial. */
    showPipeline(r, answer) {
      if (opened !== r) return;
      detail.showPipeline(r, answer);
      openedHeight = 0;
      draw();
    },
    opened: () => opened,
    stop() {
      resized.disconnect();
      hold.stop();
    },
  };
}
