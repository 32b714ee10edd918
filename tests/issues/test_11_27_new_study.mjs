// test_11_27_new_study.mjs - the form of a new study: an unknown dataset enabled Start, an error's
// line was that of its section, a switched dataset threw the text away, an empty spec was told of a
// JSON object. (A preview of 6 trials for a budget of 3 is in
// tests/controller/decide/test_search.c.) Run by tests/run.sh.

import {browserTest, fakeStudy} from '../e2e/page_rig.mjs';

const world = {
  study: fakeStudy(),
  rows: []
};
const preview = {
  sampler: 'tpe',
  sampler_why: null,
  scheduler: 'none',
  scheduler_why: null,
  deterministic: true,
  trials: 3,
  open: false,
  scaled: false,
  lines: [],
  cost: null
};

await browserTest(world, async ({ ok, fake, page }) => {
  const dataset = (name) => ({
    id: 1,
    name,
    state: 'ready',
    schema: { columns: [{ name: 'x', type: 'numeric' }, { name: 'y', type: 'numeric' }] }
  });
  fake.answers['GET /searchers'] = () =>
      ({ samplers: [{ name: 'tpe' }], schedulers: [{ name: 'none' }] });
  fake.answers['GET /datasets'] = () => ({ datasets: [dataset('train'), dataset('other table')] });
  fake.answers['GET /datasets/train'] = () => dataset('train');
  fake.answers['GET /datasets/other%20table'] = () => dataset('other table');
  fake.answers['POST /studies:preview'] = (url, body) => {
    if (body.includes('leafs'))
      return {
        status: 400,
        title: 'Bad request',
        detail: 'unknown key "leafs": did you mean leaves?',
        where: 'space[1].leafs'
      };
    if (body.includes('nowhere'))
      return {
        status: 400,
        title: 'Bad request',
        detail: 'there is no dataset "nowhere"',
        where: 'dataset'
      };
    return preview;
  };
  const spec = (text) => page.eval(`(() => { const t = document.getElementById('spec'); t.value = ${
      JSON.stringify(text)}; t.dispatchEvent(new Event('input')); })()`);
  const told = "document.querySelector('.told').textContent",
        off = "document.querySelector('[type=submit]').disabled",
        value = "document.getElementById('spec').value";
  const choose = (name) =>
      page.eval(`(() => { const s = document.querySelector('[aria-label=Dataset]'); s.value = ${
          JSON.stringify(name)}; s.dispatchEvent(new Event('change')); })()`);

  await page.go(`${fake.address}/#/new`);
  await page.until(`!${off}`);
  ok('a new study begins with a spec that may start', (await page.eval(told)).includes('3 trials'));
  await choose('other table');
  await page.until(`${value}.includes("other table")`);
  ok('an untouched spec is made anew for another dataset', true);

  await spec('# mine\ndataset: train   # the big one\ntarget: y\nseed: 77\n');
  await page.until(`!${off}`);
  await choose('other table');
  await page.until(`${value}.includes('other table')`);
  ok('a written one keeps everything but the name',
     await page.eval(value) ===
         '# mine\ndataset: "other table"   # the big one\ntarget: y\nseed: 77\n',
     await page.eval(value));

  await spec('dataset: nowhere\ntarget: y\n');
  await page.until(`${told}.includes('there is no dataset')`);
  ok('an unknown dataset cannot be started',
     await page.eval(`${off} && ${told}.includes('line 1')`), await page.eval(told));

  await spec(
      'dataset: train\n\ntarget: y\nspace:\n  - family: boost\n    leaves: 3\n  - family: forest\n    # so many\n    leafs: 3\n');
  await page.until(`${told}.includes('leafs')`);
  ok('an error names its own line', await page.eval(`${told}.includes('(line 9)') && ${off}`),
     await page.eval(told));

  const before = fake.asked.length;
  await spec('  \n# nothing yet\n');
  await page.until(`${told}.includes('empty')`);
  ok('an empty spec is told what it needs, not of JSON',
     await page.eval(`${told}.includes('target: COLUMN') && !${told}.includes('JSON') && ${off}`) &&
         fake.asked.length === before,
     await page.eval(told));
  page.problems.splice(
      0, page.problems.length,
      ...page.problems.filter((p) => !p.includes('studies:preview')));  // the refusal is on purpose
});
