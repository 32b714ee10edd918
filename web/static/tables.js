// tables.js - simple lists: datasets with their columns, runners with their devices, and pools.

import * as api from './api.js';
import {pill} from './budget.js';
import {arrange, h, replace, setText} from './dom.js';
import {ago, bytes, count, NONE, when} from './format.js';

function listView(root, { title, path, key, heads, row, empty, showError }) {
  const body = h('tbody'), total = h('span', { class: 'quiet' });
  const table = h(
      'table', { class: 'list' }, h('caption', { class: 'unseen' }, title),
      h('thead', {},
        h('tr', {},
          heads.map(([name, num]) => h('th', { scope: 'col', class: num ? 'num' : null }, name)))),
      body);
  const holder = h('div', { class: 'card flush' }, table);
  const rows = new Map();  // id -> {tr, key, cells: the HTML of each cell}
  let isStopped = false;

  /**
   * Returns the element of a row. Only cells whose content has changed are replaced, so that
   * buttons keep the focus and opened details stay open.
   */
  function rowOf(item) {
    const key = JSON.stringify(item), known = rows.get(item.id);
    if (known?.key === key) return known.tr;
    const made = row(item), cells = [...made.cells].map((c) => c.innerHTML);
    if (!known) {
      rows.set(item.id, { tr: made, key, cells });
      return made;
    }
    cells.forEach((text, i) => {
      if (text !== known.cells[i]) known.tr.cells[i].replaceChildren(...made.cells[i].childNodes);
      known.tr.cells[i].title = made.cells[i].title;
    });
    Object.assign(known, { key, cells });
    return known.tr;
  }

  async function load() {
    try {
      const items = [];
      for (let after = 0; after !== null;) {
        const page = await api.get(after ? `${path}?after=${after}` : path);
        if (isStopped) return;
        items.push(...page[key]);
        after = page.next ?? null;
      }
      setText(total, items.length ? count(items.length) : '');
      if (!items.length)
        replace(holder, empty());
      else {
        const ids = new Set(items.map((i) => i.id));
        for (const id of rows.keys())
          if (!ids.has(id)) rows.delete(id);
        arrange(body, null, null, items.map(rowOf));
        if (table.parentNode !== holder) replace(holder, table);
      }
    } catch (err) {
      if (err.status > 0)
        showError(err);
      else if (err.status === undefined)
        reportError(err);
    }
  }

  const refresh = api.throttled(500, load);
  const tick = setInterval(refresh, 5000);
  document.title = `${title} · Assay`;
  root.append(h('div', { class: 'bar' }, h('h1', {}, title), total), holder);
  load();
  return {
    refresh,
    onEvent: refresh,
    load,
    stop: () => {
      isStopped = true;
      clearInterval(tick);
      refresh.stop();
    }
  };
}

/** How a column was read, in words, from its note (docs/SPEC.md, "Columns"). */
function toldOf(c) {
  let note = {};
  try {
    note = JSON.parse(c.note || '{}');
  } catch {
    return '';
  }
  const words = (lead, list) => list ?
      `${lead}: ${Object.entries(list).map(([word, n]) => `"${word}" ${count(n)}`).join(', ')}` :
      '';
  return [
    note.read && `read as ${note.read}`, note.currency && `currency ${note.currency}`,
    note.thousands && `thousands parted by "${note.thousands}"`,
    note.decimal && `decimal sign "${note.decimal}"`, note.percent && `% ${note.percent}`,
    note.unit && `unit ${note.unit}`, note.magnitudes && 'k, M and B',
    note.bounds && `bounds ${count(note.bounds)}`,
    note.order && `order ${note.order} by ${note.by}`, note.zones && 'moved to UTC',
    note.sep && `parted by "${note.sep}"`, words('missing', note.missing),
    words('no numbers', note.not_numbers), words('no dates', note.not_dates)
  ].filter(Boolean)
      .join('; ');
}

/**
 * The columns of a dataset are requested only when they are opened, because there may be thousands.
 */
function columnsOf(d) {
  if (d.state !== 'ready') return null;
  const list = h('ul', { class: 'chips' });
  return h(
      'details', {
        'data-id': d.id,
        ontoggle: async (e) => {
          if (!e.target.open || list.childElementCount) return;
          const schema = (await api.get(`/datasets/${d.id}`)).schema,
                columns = schema?.columns || [], image = schema?.image;
          replace(
              list,
              image ? h('li', {}, `images ${image.width} × ${image.height} × ${image.channels}`) :
                      null,
              columns.slice(0, 300).map(
                  (c) =>
                      h('li', { title: toldOf(c) }, c.name, ' ',
                        h('span', { class: 'quiet' }, c.kind || c.type, c.note ? ' *' : ''))),
              columns.some((c) => c.note) ?
                  h('li', { class: 'quiet' }, '* read in a special way: point at it') :
                  null,
              columns.length > 300 ?
                  h('li', { class: 'quiet' }, `and ${count(columns.length - 300)} more`) :
                  null);
        }
      },
      h('summary', {}, 'columns'), list);
}

export function datasetsView(root, params, showError) {
  return listView(root, {
    title: 'Datasets',
    path: '/datasets',
    key: 'datasets',
    showError,
    heads: [
      ['Dataset'], ['State'], ['Rows', true], ['Columns', true], ['Size', true], ['Added', true]
    ],
    row: (d) =>
        h('tr', {},
          h('th', { scope: 'row' }, d.name,
            d.file_name && d.file_name !== d.name ? h('span', { class: 'sub' }, d.file_name) : null,
            d.error ? h('span', { class: 'sub bad' }, d.error) : columnsOf(d)),
          h('td', {}, pill(d.state)),
          h('td', { class: 'num' }, d.state === 'ready' ? count(d.rows) : NONE),
          h('td', { class: 'num' }, d.state === 'ready' ? count(d.cols) : NONE),
          h('td', { class: 'num' }, bytes(d.bytes)),
          h('td', { class: 'num quiet', title: when(d.created_at) }, ago(d.created_at))),
    empty: () =>
        h('section', { class: 'empty' }, h('h2', {}, 'No datasets yet'),
          h('p', {}, 'A dataset is a table with a name. Add one in a terminal:'),
          h('pre', {}, h('code', {}, 'assay data add train.csv --name mytable'))),
  });
}

function deviceRow(d) {
  return h(
      'li', {}, h('strong', {}, d.id), ' ',
      h('span', { class: 'quiet' },
        [d.name || d.kind, d.memory_bytes ? bytes(d.memory_bytes) : ''].filter(Boolean).join(', ')),
      d.running ? h('span', {}, ` ${count(d.running)} running`) :
                  h('span', { class: 'quiet' }, ' idle'),
      d.failures ? h('span', { class: 'bad' },
                     ` ${count(d.failures)} ${d.failures === 1 ? 'failure' : 'failures'}`) :
                   null,
      d.quarantined ?
          h('span', { class: 'bad', title: `until ${when(d.quarantined_until)}` }, ' quarantined') :
          null,
      d.on_probation ?
          h('span', { class: 'bad', title: 'one trial at a time, until one ends well' },
            ' on probation') :
          null);
}

/**
 * The pools whose runners a cluster's scheduler starts, below the runners; nothing without pools.
 */
function poolsCard(root) {
  const holder = h('div');
  let isStopped = false;

  function rowOf(p) {
    return h(
        'tr', {},
        h('th', { scope: 'row' }, p.name, p.why ? h('span', { class: 'sub' }, p.why) : null),
        h('td', {}, pill(p.state)), h('td', { class: 'num' }, count(p.running)),
        h('td', { class: 'num' }, count(p.pending)), h('td', { class: 'num' }, count(p.max)));
  }

  async function load() {
    try {
      const { pools } = await api.get('/pools');
      if (isStopped) return;
      const heads =
          [['Pool'], ['State'], ['Jobs running', true], ['waiting', true], ['at most', true]];
      replace(
          holder,
          pools.length ?
              h('div', { class: 'card flush' },
                h('table', { class: 'list' }, h('caption', { class: 'unseen' }, 'Pools'),
                  h('thead', {},
                    h('tr', {},
                      heads.map(
                          ([name, num]) =>
                              h('th', { scope: 'col', class: num ? 'num' : null }, name)))),
                  h('tbody', {}, pools.map(rowOf)))) :
              null);
    } catch {
      // The list of runners says what is wrong with the connection.
    }
  }

  const tick = setInterval(load, 5000);
  root.append(holder);
  load();
  return () => {
    isStopped = true;
    clearInterval(tick);
  };
}

export function runnersView(root, params, showError) {
  let view = null;

  async function act(runner, verb) {
    try {
      await api.send('POST', `/runners/${runner.id}/${verb}`);
      view.load();
    } catch (err) {
      showError(err);
    }
  }

  function button(r) {
    if (!api.mayWrite() || r.state === 'lost') return null;
    const verb = r.state === 'enabled' ? 'drain' : 'enable';
    return h(
        'button',
        { type: 'button', onclick: () => act(r, verb), 'aria-label': `${verb} ${r.name}` },
        verb === 'drain' ? 'Drain' : 'Enable');
  }

  view = listView(root, {
    title: 'Runners',
    path: '/runners',
    key: 'runners',
    showError,
    heads: [['Runner'], ['State'], ['Devices'], ['Trials', true], ['Heard', true], ['']],
    row: (r) =>
        h('tr', {},
          h('th', { scope: 'row' }, r.name,
            h('span', { class: 'sub' },
              [`#${r.id}`, r.numeric_sig, r.labels].filter(Boolean).join(' · '))),
          h('td', {}, pill(r.state), r.reason ? h('span', { class: 'sub bad' }, r.reason) : null),
          h('td', {}, h('ul', { class: 'plain-list' }, (r.devices || []).map(deviceRow))),
          h('td', { class: 'num' }, count(r.lanes)),
          h('td', { class: 'num quiet', title: when(r.last_seen) }, ago(r.last_seen)),
          h('td', { class: 'act' }, button(r))),
    empty: () =>
        h('section', { class: 'empty' }, h('h2', {}, 'No runner is connected'),
          h('p', {}, 'Runners do the work; studies wait until one is connected. ',
            'Start one on this machine or on any other:'),
          h('pre', {}, h('code', {}, `assay agent --server ${location.origin} --token-file FILE`))),
  });
  const stopPools = poolsCard(root), stop = view.stop;
  view.stop = () => {
    stopPools();
    stop();
  };
  return view;
}
