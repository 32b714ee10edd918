// test_11_23_signin.mjs - issue 11, point 23, in a real browser. A restart of the controller signs
// no tab out and leaves no dead page; a page without a session asks for a token; offline and signed
// out are said in words; signing out ends it.

import {spawn} from 'node:child_process';
import {mkdtempSync, openSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

import {chromiumPath, open} from '../e2e/cdp.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const assay = join(root, process.env.B || 'build/gcc', 'assay');
if (!chromiumPath()) {
  console.log('skipped: no Chromium here (package chromium)');
  process.exit(77);
}

let passed = 0, failed = 0, server = null;
const work = mkdtempSync(join(tmpdir(), 'assay-signin-')), data = join(work, 'data');

function ok(name, is, told = '') {
  if (is)
    passed++;
  else
    failed++;
  console.log(`${is ? 'ok' : 'FAILED'} ${name}${is ? '' : ` (${told})`}`);
}

/** The first line that a controller prints: its address, and the link. */
function serve(listen) {
  server = spawn(assay, ['serve', '--data-dir', data, '--listen', listen, '--log-level', 'warn'], {
    cwd: work,
    stdio: ['ignore', 'pipe', openSync(join(work, 'log'), 'a')],
    env: {...process.env, HOME: work }
  });
  return new Promise((done, not) => {
    let text = '';
    server.stdout.on('data', (part) => {
      text += part;
      if (text.includes('\n'))
        done({ address: /http:\/\/[^ ]+/.exec(text)[0], link: /page: ([^ ]+)/.exec(text)[1] });
    });
    server.on('exit', () => not(new Error(readFileSync(join(work, 'log'), 'utf8'))));
  });
}

function stop() {
  const ended = new Promise((r) => {
    server.on('exit', r);
  });
  server.kill('SIGTERM');
  return ended;
}

const state = "document.getElementById('link-state').dataset.state";
const words = "document.getElementById('link-text').textContent";
const form = "document.querySelector('.sign-in input')";

async function signIn(page, token) {
  await page.until(form);
  await page.eval(`(() => { ${form}.value = ${
      JSON.stringify(token)}; document.querySelector('.sign-in button').click(); })()`);
}

async function story(page) {
  const { address, link } = await serve('127.0.0.1:0'), listen = address.slice('http://'.length);
  await page.go(`${address}/`);
  ok('a page without a session asks for a token', await page.until(`${form} !== null`));
  ok('and says that nobody is signed in', (await page.eval(words)) === 'signed out',
     await page.eval(words));
  await signIn(page, 'no-such-token');
  ok('a wrong token is told in words',
     (await page.until("document.querySelector('.sign-in .bad').textContent"))
         .includes('not known'));
  await signIn(page, readFileSync(join(data, 'admin-token'), 'utf8').trim());
  ok('a right one opens the page', await page.until(`${state} === 'on' && !${form}`));
  ok('which says who is signed in',
     (await page.eval("document.querySelector('.who').textContent")).includes('admin'));

  await page.eval('window.sameTab = true');
  await stop();
  await page.until(`${state} === 'off'`);
  ok('without a controller the page says so', (await page.eval(words)).startsWith('offline'),
     await page.eval(words));
  await serve(listen);
  ok('after a restart it goes on by itself', await page.until(`${state} === 'on'`));
  ok('still signed in, not loaded again', await page.eval(`window.sameTab && !${form}`));
  const answered = await page.eval(
      `import('/static/api.js').then((a) => a.get('/session')).then((s) => s.role)`);
  ok('and its requests are answered', answered === 'admin', answered);

  await page.eval("document.querySelector('.who button').click()");
  ok('signing out leads to the form',
     await page.until(`${form} !== null && ${state} === 'refused'`));
  ok('and forgets the secret', await page.eval("localStorage.getItem('assay-key') === null"));
  await page.go(link.replace(/code=.*/, 'code=0123'));
  ok('a broken link says what is wrong',
     await page.until("document.body.textContent.includes('not whole')"));
}

const page = await open();
try {
  await story(page);
} catch (err) {
  ok('the story ends', false, err.stack);
} finally {
  await page.close();
  if (server.exitCode === null) await stop();
  rmSync(work, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
