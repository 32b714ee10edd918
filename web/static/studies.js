// studies.js - the list of studies with state, best score, trials and remaining budget. Rows are
// patched in place, and only the studies that an event names are requested again. While somebody
// reads the list, new studies wait.

import * as api from './api.js';
import {failedText, isOver, leftText, meter, pill, progress, trialsBar} from './budget.js';
import {arrange, h, patch, replace, setAttr, setText} from './dom.js';
import {ago, count, decimalsFor, fixed, NONE, when} from './format.js';
import {makeHold, waitingText} from './hold.js';
import {metricName} from './metrics.js';
import {studyWhy} from './why.js';

const PAGE = 500, BY_ID = 100, START_MS = 400;

function bestCell(study) {
  const best = study.best;
  if (!best || !Number.isFinite(best.score)) return [h('span', { class: 'quiet' }, NONE)];
  return [
    h('strong', {}, fixed(best.score, decimalsFor(best.score, best.se))),
    h('span', { class: 'sub' }, [metricName(study.metric), best.family].filter(Boolean).join(' · '))
  ];
}

function budgetCell(study, age) {
  const part = progress(study, age);
  return [
    part === null ? null : meter(part, `${study.name}: budget used`, isOver(study)),
    h('span', { class: 'sub' }, leftText(study, age))
  ];
}

function stateCell(study) {
  const why = study.state === 'completed' ? null : studyWhy(study);
  return [
    pill(study.state),
    why ? h('span', { class: why.isBad ? 'sub bad' : 'sub' }, why.isEnd ? why.said : why.text) :
          null
  ];
}

function trialsCell(study) {
  const failed = failedText(study);
  return [trialsBar(study.trials), failed ? h('span', { class: 'sub bad' }, failed) : null];
}

/**
 * The cells of a row: the class, a text of all values that the cell depends on, and the function
 * that draws it.
 */
const cells = [
  ['', (s) => `${s.state} ${s.reason} ${s.why}`, stateCell],
  ['num', (s) => JSON.stringify([s.best?.score, s.best?.se, s.best?.family, s.metric]), bestCell],
  ['', (s) => JSON.stringify(s.trials), trialsCell],
  ['', (s, age) => `${progress(s, age)?.toFixed(3)} ${leftText(s, age)}`, budgetCell],
  ['num quiet', (s) => ago(s.created_at), (s) => ago(s.created_at)],
];

function rowOf(study) {
  const link = h('a', { href: `#/studies/${study.id}` }, study.name),
        sub = h('span', { class: 'sub' });
  const tds = cells.map(([kind]) => h('td', { class: kind || null }));
  tds[4].title = when(study.created_at);
  const tr = h('tr', {}, h('th', { scope: 'row' }, link, sub), tds);
  return {
    tr,
    update(s, age) {
      setText(link, s.name);
      setText(sub, `${s.dataset_name || s.dataset || ''}${s.target ? ` → ${s.target}` : ''}`);
      cells.forEach(([, of, draw], i) => patch(tds[i], of(s, age), () => draw(s, age)));
    },
  };
}

function empty() {
  return h(
      'section', { class: 'empty' }, h('h2', {}, 'No studies yet'),
      h('p', {}, 'Give Assay a table and say which column to predict: ',
        'here (New study), or in a terminal:'),
      h('pre', {},
        h('code', {}, 'assay data add train.csv --name mytable\nassay submit spec.yaml --follow')),
      h('p', { class: 'quiet' }, 'New studies appear here without reloading the page.'));
}

export function studiesView(root, params, showError) {
  const studies = new Map(), rows = new Map(), waiting = new Set(), touched = new Set();
  let fetched = 0, archived = false, filter = '', isLoaded = false, isStopped = false,
      needsAll = true;
  const body = h('tbody'), heads = ['Study', 'State', 'Best score', 'Trials', 'Budget', 'Created'];
  const table =
      h('table', { class: 'list' }, h('caption', { class: 'unseen' }, 'Studies'),
        h('thead', {},
          h('tr', {},
            heads.map(
                (t, i) => h('th', { scope: 'col', class: i === 2 || i === 5 ? 'num' : null }, t)))),
        body);
  const holder = h('div', { class: 'card flush' }, h('p', { class: 'quiet wait' }, 'Asking…')),
        total = h('span', { class: 'quiet' });
  const search = h('input', {
    type: 'search',
    placeholder: 'Filter by name or state',
    'aria-label': 'Filter studies',
    oninput: () => {
      filter = search.value.toLowerCase();
      draw();
    }
  });
  const box = h('input', {
    type: 'checkbox',
    onchange: () => {
      archived = box.checked;
      needsAll = true;
      refresh();
    }
  });
  const news =
      h('button', { type: 'button', class: 'news', hidden: true, onclick: () => settle() });
  const hold = makeHold(holder, { onFree: () => settle() });

  function draw() {
    const age = performance.now() - fetched;
    const known =
        [...studies.values()].filter((s) => !waiting.has(s.id)).sort((a, b) => b.id - a.id);
    const shown = known.filter(
        (s) =>
            `${s.name} ${s.state} ${s.target || ''} ${s.dataset_name || ''}`.toLowerCase().includes(
                filter));
    const all = count(known.length);
    setText(total, known.length === shown.length ? all : `${count(shown.length)} of ${all}`);
    setText(news, waitingText(waiting.size, 'study', 'studies'));
    news.hidden = waiting.size === 0;
    // An empty list has nothing to filter. A text that was typed stays in sight.
    search.hidden = isLoaded && known.length === 0 && filter === '';
    if (!isLoaded) return;
    if (known.length === 0) {
      if (!holder.querySelector('.empty')) replace(holder, empty());
      return;
    }
    for (const s of shown) {
      if (!rows.has(s.id)) rows.set(s.id, rowOf(s));
      rows.get(s.id).update(s, age);
    }
    arrange(body, null, null, shown.map((s) => rows.get(s.id).tr));
    if (table.parentNode !== holder) replace(holder, table);
  }

  function settle() {
    waiting.clear();
    draw();
  }

  function take(list) {
    const isRead = isLoaded && hold.isRead();
    for (const s of list) {
      if (s.archived && !archived)
        studies.delete(s.id);
      else {
        if (isRead && !studies.has(s.id)) waiting.add(s.id);
        studies.set(s.id, s);
      }
    }
    if (waiting.size) hold.wait();
    fetched = performance.now();
  }

  /** Loads all studies page by page, and shows each page when it arrives. */
  async function loadAll() {
    const there = new Set();
    for (let after = 0; after !== null;) {
      const page =
          await api.get(`/studies?limit=${PAGE}&after=${after}${archived ? '&archived=true' : ''}`);
      if (isStopped) return;
      for (const s of page.studies) there.add(s.id);
      take(page.studies);
      isLoaded = true;
      draw();
      after = page.studies.length < PAGE ? null : page.studies[page.studies.length - 1].id;
    }
    for (const id of studies.keys())
      if (!there.has(id)) studies.delete(id);
    needsAll = false;
    draw();
  }

  async function loadSome() {
    const ids = [...touched];
    touched.clear();
    for (let i = 0; i < ids.length; i += BY_ID) {
      const some = ids.slice(i, i + BY_ID),
            list = (await api.get(`/studies?ids=${some.join()}`)).studies;
      if (isStopped) return;
      for (const id of some)
        if (!list.some((s) => s.id === id)) studies.delete(id);
      take(list);
    }
    draw();
  }

  async function load() {
    try {
      await (needsAll ? loadAll() : loadSome());
    } catch (err) {
      needsAll = true;
      if (err.status > 0)
        showError(err);
      else if (err.status === undefined)
        reportError(err);
    }
  }

  const refresh = api.throttled(300, load);
  const tick = setInterval(() => {
    if ([...studies.values()].some((s) => !isOver(s))) draw();
  }, 1000);
  document.title = 'Studies · Assay';
  root.append(
      h('div', { class: 'bar' }, h('h1', {}, 'Studies'), total, h('span', { class: 'grow' }), news,
        search,
        api.mayWrite() ? h('a', { class: 'button primary', href: '#/new' }, 'New study') : null,
        h('label', { class: 'check' }, box, ' archived')),
      holder);
  setAttr(news, 'aria-live', 'polite');
  let start =
      setTimeout(begin, START_MS);  // the list is shown even if the event stream cannot be opened

  /** Loads the list when the event stream is open, so that no later change is missed. */
  function begin() {
    clearTimeout(start);
    if (start === null) return;
    start = null;
    load();
  }

  return {
    refresh() {
      if (start !== null) return;
      needsAll = true;
      refresh();
    },
    onEvent(name, data) {
      if (name === 'hello') {
        begin();
        return;
      }
      if (name !== 'changed' || !Array.isArray(data?.studies))
        needsAll = true;
      else
        for (const id of data.studies) touched.add(id);
      refresh();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(start);
      clearInterval(tick);
      refresh.stop();
      hold.stop();
    },
  };
}
