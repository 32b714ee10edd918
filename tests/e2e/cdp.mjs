// cdp.mjs - a small client of the Chrome DevTools Protocol over --remote-debugging-pipe: no
// WebSocket, no port, no package. open() starts a headless Chromium with a profile of its own; a
// page evaluates, waits, types, takes screenshots. Used by test_page.mjs.

import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const PROGRAMS = [
  process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'
];

export function chromiumPath() {
  return PROGRAMS.find((p) => p && existsSync(p)) || null;
}

export async function open({width = 1360, height = 900, dark = false} = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'assay-chromium-'));
  const child = spawn(
      chromiumPath(),
      [
        '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
        '--remote-debugging-pipe', '--no-first-run', '--disable-extensions',
        '--disable-background-networking', `--user-data-dir=${profile}`,
        `--window-size=${width},${height}`, 'about:blank'
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map(), listeners = new Set();
  let next = 1, rest = Buffer.alloc(0);

  child.stdio[4].on('data', (part) => {
    rest = Buffer.concat([rest, part]);
    let end;
    while ((end = rest.indexOf(0)) >= 0) {
      const msg = JSON.parse(rest.subarray(0, end).toString());
      rest = rest.subarray(end + 1);
      if (msg.id && waiting.has(msg.id)) {
        const { resolve, reject } = waiting.get(msg.id);
        waiting.delete(msg.id);
        if (msg.error)
          reject(new Error(`${msg.error.message} ${msg.error.data || ''}`));
        else
          resolve(msg.result);
      } else {
        for (const f of listeners) f(msg);
      }
    }
  });
  child.on('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error('Chromium has ended'));
  });

  function call(method, params = {}, sessionId = undefined) {
    return new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject });
      child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
  const send = (method, params) => call(method, params, sessionId);
  const problems = [], requests = [];

  listeners.add((msg) => {
    if (msg.sessionId !== sessionId) return;
    if (msg.method === 'Runtime.exceptionThrown')
      problems.push(
          msg.params.exceptionDetails.exception?.description || msg.params.exceptionDetails.text);
    if (msg.method === 'Log.entryAdded' && msg.params.entry.level === 'error')
      problems.push(`${msg.params.entry.text} ${msg.params.entry.url || ''}`);
    if (msg.method === 'Network.requestWillBeSent') requests.push(msg.params.request.url);
  });
  await send('Page.enable');
  await send('Runtime.enable');
  await send('Log.enable');
  await send('Network.enable');
  await send(
      'Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  if (dark)
    await send(
        'Emulation.setEmulatedMedia',
        { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });

  const page = {
    send,
    problems,
    requests,
    call,
    /** Calls f with every message of the protocol for this page. */
    on(f) {
      listeners.add((msg) => {
        if (msg.sessionId === sessionId) f(msg);
      });
    },
    async go(url) {
      await send('Page.navigate', { url });
    },
    async eval(expression) {
      const r =
          await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      if (r.exceptionDetails)
        throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
      return r.result.value;
    },
    /**
       Waits until the expression is truthy and returns it; says what it was waiting for when it
       never is.
     */
    async until(expression, ms = 20000) {
      const end = Date.now() + ms;
      for (;;) {
        const value =
            await page.eval(`(() => { try { return ${expression}; } catch { return null; } })()`);
        if (value) return value;
        if (Date.now() > end)
          throw new Error(`waited ${ms} ms for: ${expression}\n${problems.join('\n')}\n${
              await page.eval('document.body.innerText.slice(0, 800)')}`);
        await new Promise((r) => {
          setTimeout(r, 50);
        });
      }
    },
    /** The pointer moves over the middle of an element, and presses there when asked to. */
    async pointer(selector, isClick = false) {
      const at = await page.eval(`(() => { const r = document.querySelector(${
          JSON.stringify(
              selector)}).getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`);
      await send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
      if (!isClick) return;
      await send(
          'Input.dispatchMouseEvent',
          { type: 'mousePressed', button: 'left', clickCount: 1, ...at });
      await send(
          'Input.dispatchMouseEvent',
          { type: 'mouseReleased', button: 'left', clickCount: 1, ...at });
    },
    async key(key, code = key) {
      const codes = { Enter: 13, Tab: 9, ' ': 32 };
      const p = {
        key,
        code,
        windowsVirtualKeyCode: codes[key] || 0,
        text: key === 'Enter' ? '\r' :
            key.length === 1  ? key :
                                undefined
      };
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...p });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...p });
    },
    async screenshot(path) {
      const { data } = await send('Page.captureScreenshot', { format: 'png' });
      writeFileSync(path, Buffer.from(data, 'base64'));
    },
    async close() {
      await call('Browser.close').catch(() => {});
      await new Promise((r) => {
        if (child.exitCode !== null)
          r();
        else
          child.on('exit', r);
      });
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return page;
}
