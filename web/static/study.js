// study.js - the view of one study: its results, remaining budget, leaderboard and best model.
// feed.js loads the trials. This file draws the study itself, and passes changes on to the board,
// the charts and the cards.

import * as api from './api.js';
import {makeBoard} from './board.js';
import {
  ended,
  failedText,
  isOver,
  leftText,
  meter,
  pill,
  progress,
  trialsBar,
  usedMs
} from './budget.js';
import {makeChart} from './chart.js';
import {makeChips} from './chips.js';
import {makeColumns} from './columns.js';
import {curvesOf} from './curve.js';
import {announce, h, patch, replace, setAttr, setText} from './dom.js';
import {makeFeed, paced} from './feed.js';
import {compile} from './filter.js';
import {count, decimalsFor, duration, fixed, NONE, percent, when} from './format.js';
import {makeImportance} from './importance.js';
import {metricName} from './metrics.js';
import {makePareto} from './pareto.js';
import {makeSearch} from './search.js';
import {Trials} from './trials.js';
import {studyWhy} from './why.js';

const ANALYSIS_MS = 10000, FILTER_MS = 120, PICTURE_MS = 500;

const goals = {
  score: 'score',
  fit_us: 'short fit time',
  predict_ns_row: 'short prediction time',
  model_bytes: 'small models'
};

function fact(name) {
  const dd = h('dd', {}, NONE), sub = h('dd', { class: 'sub' });
  return { box: h('div', {}, h('dt', {}, name), dd, sub), dd, sub };
}

function validationOf(study) {
  const data = study.data;
  if (!data || data.undecided || study.validation === 'none') return null;
  return data.holdout ? 'validated on a holdout' : `validated on ${data.folds} folds`;
}

function csvOf(rows) {
  const keys = [
    'rank', 'trial', 'number', 'family', 'score', 'se', 'test_score', 'test_se', 'level',
    'max_level', 'fit_us', 'predict_ns_row', 'model_bytes', 'front', 'state'
  ];
  const config = [...new Set(rows.flatMap((r) => Object.keys(r.config || {})))]
                     .filter((k) => k !== 'family')
                     .sort();
  const cell = (v) =>
      (v === null || v === undefined ? '' :
           /[",\n]/.test(String(v))  ? `"${String(v).replaceAll('"', '""')}"` :
                                       String(v));
  return [
    [...keys, ...config].join(','),
    ...rows.map(
        (r) => [...keys.map((k) => cell(r[k])), ...config.map((k) => cell(r.config?.[k]))].join(
            ','))
  ].join('\n') +
      '\n';
}

function saveText(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/**
 * Calls f once, when the element comes into sight for the first time. Returns a function that
 * cancels this.
 */
function onSight(el, f) {
  const seen = new IntersectionObserver((list) => {
    if (!list.some((e) => e.isIntersecting)) return;
    seen.disconnect();
    f();
  });
  seen.observe(el);
  return () => seen.disconnect();
}

export function studyView(root, [ref], showError) {
  let study = null, fetched = 0, bestSeen = null, isStopped = false, analysed = -1,
      analysedAt = -Infinity, chip = null, isAnalysing = false, trialAt = '', columnsKey = null,
      areColumnsSeen = false, hasAsked = false;
  const path = `/studies/${encodeURIComponent(ref)}`, trials = new Trials();

  const title = h('h1', {}, '…'), state = h('span', {}), ending = h('span', { class: 'quiet' }),
        about = h('p', { class: 'sub about' });
  const download =
      h('a', { class: 'button primary', download: '', hidden: true }, 'Download best model');
  const actions = h('span', { class: 'actions' });
  const facts = {
    score: fact('Best score'),
    test: fact('Test score'),
    trials: fact('Trials'),
    time: fact('Time')
  };
  facts.score.box.classList.add('lead');
  const bar = h('div', { class: 'budget' }), note = h('p', { class: 'note', hidden: true }),
        warnings = h('ul', { class: 'warnings', hidden: true, 'aria-label': 'Warnings' });
  const chart = makeChart();
  const importance = makeImportance(path, quietError), pareto = makePareto(path, quietError),
        searchCard = makeSearch(), columns = makeColumns(path, quietError);
  const board = makeBoard({
    caption: 'Leaderboard',
    trials,
    onOpen: showTrial,
    onSight: (numbers) => feed.need(numbers),
    onTestOrder: readTests,
    onVariant: api.mayWrite() ? variant : null
  });
  const chips = makeChips((states) => {
    chip = states;
    choose();
  });
  const filterNote =
            h('p', { class: 'filter-note', id: 'filter-note', role: 'status', hidden: true }),
        reading = h('span', { class: 'quiet', role: 'status' });
  let filterTimer = null;
  const search = h('input', {
    type: 'search',
    id: 'filter',
    placeholder: 'family = boost and score > 0.9',
    'aria-label': 'Filter the leaderboard',
    'aria-describedby': 'filter-note',
    spellcheck: 'false',
    oninput: () => {
      clearTimeout(filterTimer);
      filterTimer = setTimeout(choose, trials.size > 2000 ? FILTER_MS : 0);
    }
  });
  const csv = h('button', { type: 'button', onclick: saveCsv }, 'CSV');
  const feed = makeFeed(
      path, trials, { onStudy, onRows, onProgress: (text) => setText(reading, text), onError });
  const draw = paced(PICTURE_MS, drawPictures);

  root.append(
      h('p', { class: 'crumb' }, h('a', { href: '#/' }, 'Studies')),
      h('div', { class: 'bar head' }, title, state, ending, h('span', { class: 'grow' }), actions,
        download),
      about, note, warnings,
      h('section', { class: 'card summary', 'aria-label': 'Summary' },
        h('dl', { class: 'facts' }, Object.values(facts).map((f) => f.box)), bar),
      h('section', { class: 'card', 'aria-labelledby': 'chart-head' },
        h('div', { class: 'bar tight' }, h('h2', { id: 'chart-head' }, 'Score by trial'),
          h('span', { class: 'key' }, 'best so far'), h('span', { class: 'grow' }), chart.legend),
        chart.box),
      h('section', { 'aria-labelledby': 'board-head' },
        h('div', { class: 'bar tight' }, h('h2', { id: 'board-head' }, 'Leaderboard'), board.shown,
          reading, h('span', { class: 'grow' }), board.news, search, csv),
        h('div', { class: 'bar tight chip-bar' }, chips.box), filterNote,
        h('div', { class: 'card flush' }, board.scroller)),
      h('div', { class: 'pair' }, importance.box, pareto.box), columns.box, searchCard.box);
  const unseen = [
    onSight(
        importance.box,
        () => {
          isAnalysing = true;
          analyse();
        }),
    onSight(
        searchCard.box,
        () => {
          areColumnsSeen = true;
          drawColumns();
        })
  ];

  /**
   * Shows an error, except when the server did not answer: app.js shows that for the whole page.
   */
  function quietError(err) {
    if (err.status > 0)
      showError(err);
    else if (err.status === undefined && err.name !== 'AbortError')
      reportError(err);
  }

  async function act(verb, question) {
    if (question && !window.confirm(question)) return;
    try {
      await api.send('POST', `${path}/${verb}`);
      feed.refresh();
    } catch (err) {
      showError(err);
    }
  }

  function drawActions() {
    const buttons = [];
    const button = (name, verb, question) =>
        buttons.push(h('button', { type: 'button', onclick: () => act(verb, question) }, name));
    if (api.mayWrite() && !isOver(study)) {
      if (study.state === 'paused')
        button('Resume', 'resume');
      else if (study.state === 'running' || study.state === 'queued')
        button('Pause', 'pause');
      if (study.state !== 'finishing')
        button('Stop', 'stop', `Stop “${study.name}” now? It ends with its best model so far.`);
    }
    const wanted = buttons.map((b) => b.textContent).join();
    if (actions.dataset.has !== wanted) replace(actions, buttons);
    actions.dataset.has = wanted;
  }

  const scoreText = (score, se) => {
    const d = decimalsFor(score, se);
    return [
      fixed(score, d), Number.isFinite(se) ? h('span', { class: 'se' }, ` ± ${fixed(se, d)}`) : null
    ];
  };

  /** What a stranger should expect, once the study has ended: chance has helped to choose. */
  function expected(estimate) {
    if (estimate?.is_baseline) return 'no model is better by more than chance';
    if (!Number.isFinite(estimate?.score)) return '';
    const d = decimalsFor(estimate.score, estimate.se);
    return `expect ${fixed(estimate.score, d)} ± ${fixed(estimate.se, d)} on new rows`;
  }

  /**
   * Names the model that ships: a trial, or the members of an ensemble and the best single score.
   */
  function whatShips(best, ensemble) {
    const expect = expected((ensemble ?? best).estimate);
    if (!ensemble) {
      return [best.family, best.number ? `trial #${best.number}` : '', expect].filter(Boolean);
    }
    const members = ensemble.members.map((m) => `#${m.number} ${m.family} ${percent(m.weight, 1)}`);
    const single = fixed(ensemble.single, decimalsFor(ensemble.single, ensemble.single_se));
    const pool = ensemble.rule === 'pool' ? ' as a log-linear pool' : '';
    const when = isOver(study) ? '' : 'so far, an ';
    return [
      `${when}ensemble of ${members.join(', ')}${pool}`, `best single ${single}`, expect
    ].filter(Boolean);
  }

  function drawBest() {
    const top = study.best || board.order.ranked[0],
          result = Number.isFinite(study.result?.score) ? study.result : null;
    const best = top && Number.isFinite(top.score) ? top : result;
    if (!best) return;
    const ensemble = isOver(study) ? study.result?.ensemble : study.ensemble;
    const ships = ensemble?.ships ? ensemble : null;
    board.mark(ships?.members ?? []);
    const test = Number.isFinite(result?.test_score) ? ships ?? result : best;
    const shown = ships ?? best;
    patch(facts.score.dd, `${shown.score} ${shown.se}`, () => scoreText(shown.score, shown.se));
    setText(facts.score.sub, [metricName(study.metric), ...whatShips(best, ships)].join(' · '));
    const hasTest = Number.isFinite(test.test_score);
    patch(
        facts.test.dd, `${test.test_score} ${test.test_se}`,
        () => (hasTest ? scoreText(test.test_score, test.test_se) : NONE));
    setText(
        facts.test.sub,
        hasTest                  ? 'on rows never seen by the search' :
            study.task === 'own' ? 'its trials are programs of yours' :
                                   'no test rows were set apart');
    // What a program of the user's tries has no model here.
    const hasModel = isOver(study) ? study.state !== 'failed' && study.task !== 'own' &&
            (study.artifact || best.artifact !== false) :
                                     board.order.ranked.slice(0, 300).some((r) => r.artifact);
    setAttr(download, 'href', `/api/v1${path}/best/artifact`);
    download.hidden = !hasModel;
    columnsKey = hasModel ? `${best.number} ${study.artifact || ''}` : null;
    drawColumns();
    if (bestSeen !== null && bestSeen !== best.number)
      announce(`New best: ${fixed(best.score, decimalsFor(best.score, best.se))} by ${
          best.family}, trial ${best.number}`);
    bestSeen = best.number ?? bestSeen;
  }

  function drawColumns() {
    if (areColumnsSeen && columnsKey) columns.show(columnsKey);
  }

  function drawStudy() {
    const age = performance.now() - fetched, part = progress(study, age);
    document.title = `${study.name} · Assay`;
    setText(title, study.name);
    patch(state, study.state, () => pill(study.state));
    setText(about, [
      study.dataset_name || study.dataset, study.target && `predicts ${study.target}`, study.task,
      validationOf(study),
      study.objectives?.length > 1 &&
          `searches for ${
              study.told_objectives ?
                  study.told_objectives
                      .map((o) => `${o.goal === 'maximize' ? 'large' : 'small'} ${o.metric}`)
                      .join(', ') :
                  study.objectives.map((key) => goals[key]).join(', ')}`,
      study.created_at && `created ${when(study.created_at)}`
    ].filter(Boolean).join(' · '));
    const why = studyWhy(study);
    note.hidden = !why || why.isEnd;
    setText(note, note.hidden ? '' : why.text);
    patch(
        warnings, JSON.stringify(study.warnings || []),
        () => (study.warnings || []).map((w) => h('li', {}, w.text)));
    warnings.hidden = !study.warnings?.length;
    setText(ending, why?.isEnd ? why.said : '');
    note.classList.toggle('bad-note', Boolean(why?.isBad));
    patch(facts.trials.dd, JSON.stringify(study.trials), () => trialsBar(study.trials));
    drawTrials();
    setText(facts.time.dd, duration(usedMs(study, age)));
    const limit = study.budget?.time_ms;
    setText(
        facts.time.sub,
        isOver(study) ? (limit ? `of ${duration(limit)} allowed` : 'no limit of time') :
                                 leftText(study, age) || (limit ? '' : 'no limit of time'));
    patch(
        bar, `${part === null ? null : part.toFixed(4)} ${isOver(study)}`,
        () => (part === null ? [] : meter(part, 'Budget used', isOver(study))));
    chips.update(study.trials);
    board.say(emptyBoard());
    drawActions();
    drawBest();
  }

  function drawTrials() {
    const limit = study.budget?.trials, done = ended(study), failed = failedText(study);
    const words = limit ? `${count(done)} of ${count(limit)} ended` :
                          `${count(done)} ended, ${count(study.trials?.running || 0)} running`;
    patch(
        facts.trials.sub, `${words} ${failed}`,
        () => [words, failed ? h('span', { class: 'bad failed' }, failed) : null]);
  }

  function emptyBoard() {
    if (isOver(study)) return 'This study ended without a trial.';
    return study.state === 'paused' ? 'No trial has run yet: the study is paused.' :
                                      'The first trials appear here in a moment.';
  }

  function onStudy(now) {
    if (study === null) setTimeout(choose);
    const isEnd = study !== null && isOver(now) && !isOver(study) && now.brackets === undefined,
          isWarned = !hasAsked && now.trials?.completed > 0 && now.warnings === undefined;
    hasAsked = hasAsked || now.trials?.completed > 0;
    if (isEnd || isWarned) setTimeout(wholeStudy);
    study = {
      ...study,
      ...now,
      spec: now.spec ?? study?.spec,
      data: now.data ?? study?.data,
      brackets: now.brackets ?? study?.brackets,
      warnings: now.warnings ?? study?.warnings
    };
    fetched = performance.now();
    document.title = `${study.name} · Assay`;
  }

  /**
   * The changes of a study contain neither its warnings nor, in the end, its rungs. They are
   * requested once, when its first trial has completed and when the study ends.
   */
  async function wholeStudy() {
    try {
      const whole = await api.get(path);
      if (isStopped) return;
      study = {...study, ...whole };
      drawStudy();
      draw();
    } catch (err) {
      quietError(err);
    }
  }

  /** Draws what depends on the changed rows. Charts and cards are drawn a little later (paced). */
  function onRows(changed, isLive) {
    board.update(changed, study.larger_is_better === false, isLive);
    drawStudy();
    draw();
    const open = board.opened();
    if (open && changed?.has(open)) showTrial(open);
  }

  function drawPictures() {
    if (isStopped || !study) return;
    const scored = trials.scored(), isLower = study.larger_is_better === false;
    chart.update(scored, isLower);
    pareto.update(scored, isLower, study.objectives, study.told_objectives);
    searchCard.update(study);
    analyse();
  }

  /**
   * Applies the filter and the chosen state to the board. A filter on parameters waits until all
   * configurations were read.
   */
  async function choose() {
    clearTimeout(filterTimer);
    const text = search.value;
    try {
      const { test, needsConfig } = compile(text, {
        families: trials.families,
        parameters: trials.parameters,
        isWhole: trials.hasConfigs()
      });
      tell('');
      if (needsConfig && text && !trials.hasConfigs()) {
        tell('Reading the configurations of all trials…');
        await feed.configs();
        if (!isStopped && search.value === text && trials.hasConfigs()) choose();
        return;
      }
      board.choose(test, chip);
    } catch (err) {
      if (err.status !== undefined || err.name === 'AbortError')
        quietError(err);
      else
        tell(err.message, true);
    }
  }

  /**
   * Sorting by test score needs the test scores of all trials, which arrive with the
   * configurations.
   */
  async function readTests() {
    if (trials.hasConfigs()) return;
    try {
      await feed.configs();
      if (!isStopped) board.update(null, study.larger_is_better === false, false);
    } catch (err) {
      quietError(err);
    }
  }

  function tell(text, isBad = false) {
    filterNote.hidden = !text;
    filterNote.classList.toggle('bad', isBad);
    setText(filterNote, text && isBad ? `${text[0].toUpperCase()}${text.slice(1)}.` : text);
    setAttr(search, 'aria-invalid', isBad ? 'true' : null);
  }

  async function saveCsv() {
    csv.disabled = true;
    try {
      const rows = [...board.order.shown];
      await feed.whole(rows);
      saveText(`${study?.name || 'study'}-leaderboard.csv`, csvOf(rows));
    } catch (err) {
      quietError(err);
    } finally {
      csv.disabled = false;
    }
  }

  async function showTrial(row) {
    const key = `${row.number} ${row.at}`;
    if (key === trialAt) return;
    trialAt = key;
    try {
      const trial = await api.get(`/trials/${row.trial}`);
      if (isStopped) return;
      board.show(row, trial, curvesOf(trial, study));
      if (trial.info?.pipeline) await showPipeline(row);
      if (trial.epochs) await showEpochs(row);
      if (trial.family === 'own') await showOutput(row);
    } catch (err) {
      trialAt = '';
      quietError(err);
    }
  }

  async function showPipeline(row) {
    const answer = await api.get(`/trials/${row.trial}/pipeline`);
    if (!isStopped) board.showPipeline(row, answer);
  }

  async function showEpochs(row) {
    const answer = await api.get(`/trials/${row.trial}/epochs`);
    if (!isStopped) board.showEpochs(row, answer);
  }

  /** Asks for what the program of a trial printed since the last time. */
  async function showOutput(row) {
    let answer = null;
    do {
      answer = await api.get(`/trials/${row.trial}/output?after=${board.outputAt(row)}`);
      if (isStopped || board.opened() !== row) return;
      board.showOutput(row, answer);
    } while (answer.more);
  }

  /** Reads the epochs or the output of the opened trial again, at most once a second. */
  const trained = api.throttled(1000, () => {
    const row = board.opened();
    if (!row || isStopped) return null;
    return (row.family === 'own' ? showOutput(row) : showEpochs(row)).catch(quietError);
  });

  /** Lets the user edit the configuration of a trial, and queues a new trial with the result. */
  async function variant(row) {
    const text = window.prompt('Configuration to try next', JSON.stringify(row.config));
    if (!text) return;
    try {
      const made = await api.sendSpec(`${path}/trials`, text);
      announce(`Trial ${made.number} is queued`);
      feed.refresh();
    } catch (err) {
      showError(err);
    }
  }

  /**
   * Requests the importance and the front again: only after the card came into sight, at most every
   * ten seconds while the study runs, and once at its end.
   */
  function analyse() {
    const now = performance.now(), key = `${board.order.ranked.length} ${isOver(study || {})}`;
    if (!isAnalysing || !study || key === analysed ||
        (!isOver(study) && now - analysedAt < ANALYSIS_MS))
      return;
    analysed = key;
    analysedAt = now;
    importance.refresh();
    pareto.refresh();
  }

  /** If the very first request fails, the error is shown in place of the study. */
  function onError(err) {
    if (study !== null || err.status === 401 || err.status === 0 || err.status === 503) {
      quietError(err);
      return;
    }
    replace(
        root,
        h('section', { class: 'empty' },
          h('h1', {}, err.status === 404 ? 'No such study' : 'This study cannot be shown'),
          h('p', {}, err.message), h('p', {}, h('a', { href: '#/' }, 'All studies'))));
  }

  const tick = setInterval(() => {
    if (study && !isOver(study)) drawStudy();
    if (board.opened()?.state === 'running' && !document.hidden) trained();
  }, 1000);
  return {
    study: ref,
    refresh: feed.refresh,
    onEvent(name, data) {
      if (name === 'changed' || name === 'resync' || (data?.seq ?? Infinity) > (feed.seq() ?? -1))
        feed.refresh();
    },
    stop() {
      isStopped = true;
      clearInterval(tick);
      clearTimeout(filterTimer);
      draw.stop();
      for (const f of unseen) f();
      feed.refresh.stop();
      trained.stop();
      feed.stop();
      chart.stop();
      importance.stop();
      pareto.stop();
      columns.stop();
      board.stop();
    },
  };
}
