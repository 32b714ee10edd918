// study.js - one study: what it found so far, what is left of its budget, its leaderboard, its best model. Fed by
// the event stream: an event asks for a fresh look at the study and the top of its board, at most once a
// second; the whole board is fetched at the start, at a resync, at the end, and now and then while it grows.

import * as api from './api.js';
import { makeBoard } from './board.js';
import { makeChart } from './chart.js';
import { makeColumns } from './columns.js';
import { curvesOf } from './curve.js';
import { announce, h, replace, setText } from './dom.js';
import { makeImportance } from './importance.js';
import { makePareto } from './pareto.js';
import { makeSearch } from './search.js';
import { NONE, count, decimalsFor, duration, fixed, when } from './format.js';
import { ended, isOver, leftText, meter, pill, progress, trialsBar, usedMs } from './studies.js';

const TOP = 300, PAGE = 1000, WHOLE_MS = 15000, UNFINISHED = 200, ANALYSIS_MS = 5000;

const goals = { score: 'score', fit_us: 'short fit time', predict_ns_row: 'short prediction time', model_bytes: 'small models' };

function fact(name) {
  const dd = h('dd', {}, NONE), sub = h('dd', { class: 'sub' });
  return { box: h('div', {}, h('dt', {}, name), dd, sub), dd, sub };
}

function validationOf(study) {
  const data = study.data;
  if (!data || data.undecided) return null;
  return data.holdout ? 'validated on a holdout' : `validated on ${data.folds} folds`;
}

function csvOf(rows) {
  const keys = ['rank', 'trial', 'number', 'family', 'score', 'se', 'test_score', 'test_se', 'level', 'max_level', 'fit_us', 'predict_ns_row', 'model_bytes', 'front', 'state'];
  const config = [...new Set(rows.flatMap((r) => Object.keys(r.config || {})))].filter((k) => k !== 'family').sort();
  const cell = (v) => (v === null || v === undefined ? '' : /[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  return [[...keys, ...config].join(','), ...rows.map((r) => [...keys.map((k) => cell(r[k])), ...config.map((k) => cell(r.config?.[k]))].join(','))].join('\n') + '\n';
}

function saveText(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export function studyView(root, [ref], showError) {
  let study = null, fetched = 0, bestSeen = null, wholeAt = -Infinity, needsWhole = true, isStopped = false, analysed = 0, analysedAt = -Infinity;
  const path = `/studies/${encodeURIComponent(ref)}`;

  const title = h('h1', {}, '…'), state = h('span', {}), about = h('p', { class: 'sub about' });
  const download = h('a', { class: 'button primary', download: '', hidden: true }, 'Download best model');
  const actions = h('span', { class: 'actions' });
  const facts = { score: fact('Best score'), test: fact('Test score'), trials: fact('Trials'), time: fact('Time') };
  facts.score.box.classList.add('lead');
  const bar = h('div', { class: 'budget' });
  const note = h('p', { class: 'note', hidden: true }), unlisted = h('p', { class: 'sub unlisted', hidden: true });
  const chart = makeChart();
  const importance = makeImportance(path, showError), pareto = makePareto(path, showError), searchCard = makeSearch(), columns = makeColumns(path, showError);
  const board = makeBoard({ caption: 'Leaderboard', onOpen: showCurves, onVariant: api.mayWrite() ? variant : null });
  const filterNote = h('span', { class: 'bad', role: 'status' });
  const search = h('input', { type: 'search', id: 'filter', placeholder: 'family = boost and score > 0.9', 'aria-label': 'Filter the leaderboard', spellcheck: 'false',
    oninput: () => setText(filterNote, board.filter(search.value)) });
  const csv = h('button', { type: 'button', onclick: () => saveText(`${study?.name || 'study'}-leaderboard.csv`, csvOf(board.ordered())) }, 'CSV');

  root.append(
    h('p', { class: 'crumb' }, h('a', { href: '#/' }, 'Studies')),
    h('div', { class: 'bar head' }, title, state, h('span', { class: 'grow' }), actions, download),
    about, note,
    h('section', { class: 'card summary', 'aria-label': 'Summary' }, h('dl', { class: 'facts' }, Object.values(facts).map((f) => f.box)), bar),
    h('section', { class: 'card', 'aria-labelledby': 'chart-head' }, h('div', { class: 'bar tight' }, h('h2', { id: 'chart-head' }, 'Score by trial'), h('span', { class: 'key' }, 'best so far'), h('span', { class: 'grow' }), chart.legend), chart.box),
    h('section', { 'aria-labelledby': 'board-head' },
      h('div', { class: 'bar tight' }, h('h2', { id: 'board-head' }, 'Leaderboard'), board.shown, h('span', { class: 'grow' }), filterNote, search, csv),
      h('div', { class: 'card flush' }, board.scroller), unlisted),
    h('div', { class: 'pair' }, importance.box, pareto.box),
    columns.box,
    searchCard.box);

  async function act(verb, question) {
    if (question && !window.confirm(question)) return;
    try {
      await api.send('POST', `${path}/${verb}`);
      refresh();
    } catch (err) {
      showError(err);
    }
  }

  function drawActions() {
    const buttons = [];
    const button = (name, verb, question) => buttons.push(h('button', { type: 'button', onclick: () => act(verb, question) }, name));
    if (api.mayWrite() && !isOver(study)) {
      if (study.state === 'paused') button('Resume', 'resume');
      else if (study.state === 'running' || study.state === 'queued') button('Pause', 'pause');
      if (study.state !== 'finishing') button('Stop', 'stop', `Stop “${study.name}” now? It ends with its best model so far.`);
    }
    const wanted = buttons.map((b) => b.textContent).join();
    if (actions.dataset.has !== wanted) replace(actions, buttons);
    actions.dataset.has = wanted;
  }

  function drawBest() {
    const result = study.result?.score !== undefined && study.result?.score !== null ? study.result : null;
    const top = board.best(), best = top && Number.isFinite(top.score) ? top : result;
    if (!best) return;
    const d = decimalsFor(best.score, best.se);
    replace(facts.score.dd, fixed(best.score, d), Number.isFinite(best.se) ? h('span', { class: 'se' }, ` ± ${fixed(best.se, d)}`) : null);
    setText(facts.score.sub, [study.metric, best.family, best.number ? `trial #${best.number}` : ''].filter(Boolean).join(' · '));
    const test = Number.isFinite(result?.test_score) ? result : best;
    if (Number.isFinite(test.test_score)) {
      const td = decimalsFor(test.test_score, test.test_se);
      replace(facts.test.dd, fixed(test.test_score, td), Number.isFinite(test.test_se) ? h('span', { class: 'se' }, ` ± ${fixed(test.test_se, td)}`) : null);
      setText(facts.test.sub, 'on rows never seen by the search');
    } else {
      setText(facts.test.sub, 'no test rows were set apart');
    }
    const hasModel = isOver(study) ? study.state !== 'failed' && (study.artifact || best.artifact !== false) : [...board.rows.values()].some((r) => r.artifact);
    download.href = `/api/v1${path}/best/artifact`;
    download.hidden = !hasModel;
    if (hasModel) columns.show(`${best.number} ${study.artifact || ''}`);
    if (bestSeen !== null && bestSeen !== best.number) announce(`New best: ${fixed(best.score, d)} by ${best.family}, trial ${best.number}`);
    bestSeen = best.number ?? bestSeen;
  }

  function drawStudy() {
    const age = performance.now() - fetched, part = progress(study, age);
    document.title = `${study.name} · Assay`;
    setText(title, study.name);
    if (state.dataset.state !== study.state) replace(state, pill(study.state));
    state.dataset.state = study.state;
    setText(about, [study.dataset_name || study.dataset, study.target && `predicts ${study.target}`, study.task, validationOf(study),
      study.objectives?.length > 1 && `searches for ${study.objectives.map((key) => goals[key]).join(', ')}`,
      study.created_at && `created ${when(study.created_at)}`].filter(Boolean).join(' · '));
    const why = study.state === 'failed' || study.state === 'queued' || study.waits ? study.reason || study.waits : '';
    note.hidden = !why;
    setText(note, why ? String(why) : '');
    replace(facts.trials.dd, trialsBar(study.trials));
    const limit = study.budget?.trials;
    setText(facts.trials.sub, limit ? `${count(ended(study))} of ${count(limit)} ended` : `${count(ended(study))} ended, ${count(study.trials?.running || 0)} running`);
    setText(facts.time.dd, duration(usedMs(study, age)));
    setText(facts.time.sub, leftText(study, age) || (study.budget?.time_ms ? '' : 'no limit'));
    replace(bar, part === null ? null : meter(part, 'Budget used', isOver(study)));
    drawActions();
    drawBest();
  }

  async function wholeBoard() {
    const all = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = (await api.get(`${path}/leaderboard?offset=${offset}&limit=${PAGE}`)).rows;
      all.push(...page);
      if (page.length < PAGE) break;
    }
    return all;
  }

  /** Trials that are on their way or were stopped: the newest of each kind, as rows without a rank. */
  async function unfinished() {
    const kinds = ['running', 'paused', 'pruned'].filter((k) => study.trials?.[k] > 0);
    const lacking = kinds.filter((k) => study.trials[k] > UNFINISHED).map((k) => `${count(study.trials[k])} ${k}`).join(', ');
    unlisted.hidden = !lacking;
    setText(unlisted, `Of ${lacking} trials the newest ${UNFINISHED} are listed; assay trials shows all.`);
    const lists = await Promise.all(kinds.map((k) => api.get(`${path}/trials?state=${k}&sort=-number&limit=${UNFINISHED}`)));
    return lists.flatMap((l) => l.trials).map((t) => ({ ...t, trial: t.id, reported: t.score, score: null, se: null, artifact: false, fit_us: t.info?.fit_us, predict_ns_row: null, model_bytes: null }));
  }

  async function showCurves(row) {
    try {
      const trial = await api.get(`/trials/${row.trial}`);
      if (!isStopped) board.setCurves(row.trial, curvesOf(trial, study));
    } catch (err) {
      showError(err);
    }
  }

  /** A trial as the user wishes it, beginning from another's configuration. */
  async function variant(row) {
    const text = window.prompt('Configuration to try next', JSON.stringify(row.config));
    if (!text) return;
    try {
      const made = await api.sendSpec(`${path}/trials`, text);
      announce(`Trial ${made.number} is queued`);
      refresh();
    } catch (err) {
      showError(err);
    }
  }

  function analyse(force) {
    const now = performance.now();
    if (!force && now - analysedAt < ANALYSIS_MS) return;
    analysedAt = now;
    importance.refresh();
    pareto.refresh();
  }

  async function load() {
    try {
      const now = performance.now();
      const wasOver = study !== null && isOver(study);
      study = await api.get(path);
      fetched = performance.now();
      const whole = needsWhole || (isOver(study) && !wasOver) || board.rows.size < TOP || now - wholeAt > WHOLE_MS;
      const rows = whole ? await wholeBoard() : (await api.get(`${path}/leaderboard?limit=${TOP}`)).rows;
      if (isStopped) return;
      const ended = rows.length;
      rows.push(...await unfinished());
      if (isStopped) return;
      if (whole) wholeAt = now;
      needsWhole = false;
      board.update(rows, whole, study.larger_is_better === false);
      const scored = [...board.rows.values()];
      chart.update(scored, study.larger_is_better === false);
      pareto.update(scored, study.larger_is_better === false, study.objectives);
      searchCard.update(study);
      analyse(ended !== analysed && (isOver(study) || analysed === 0));
      analysed = ended;
      drawStudy();
    } catch (err) {
      if (err.status === 404 && study === null) replace(root, h('section', { class: 'empty' }, h('h1', {}, 'No such study'), h('p', {}, err.message), h('p', {}, h('a', { href: '#/' }, 'All studies'))));
      else showError(err);
    }
  }

  const refresh = api.throttled(400, load);
  const tick = setInterval(() => { if (study && !isOver(study)) drawStudy(); }, 1000);
  load();
  return {
    study: ref,
    refresh,
    onEvent(name) {
      if (name === 'resync') needsWhole = true;
      if (name !== 'hello') refresh();
    },
    stop() {
      isStopped = true;
      clearInterval(tick);
      refresh.stop();
      chart.stop();
      importance.stop();
      pareto.stop();
      columns.stop();
      board.stop();
    },
  };
}
