// Runs a module of tests in a VS Code.
//
// usage: node run-tests.mjs INSTALLATION HOME WORKSPACE EXTENSION TESTS.js
//
// The module's `run` writes what it found to the file that PHOBOS_TEST_RESULT names. When it writes to the file `look` in
// HOME, the same text and what is seen in the window is written to `seen` there.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { address, startBrowser, startServer } from './code-server.mjs';
import { look } from './look.mjs';

const [installation, home, workspace, extension, tests] = process.argv.slice(2);
const LIMIT = 300_000;

async function answerLooks(page) {
  let last;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const asked = existsSync(join(home, 'look')) ? readFileSync(join(home, 'look'), 'utf8') : undefined;
    if (asked === last) continue;
    last = asked;
    writeFileSync(join(home, 'seen.new'), JSON.stringify({ asked, editors: await look(page) }));
    renameSync(join(home, 'seen.new'), join(home, 'seen'));
  }
}

const server = await startServer({ installation, home });
let code = 1;
try {
  const { browser, page } = await startBrowser({ viewport: { width: 1400, height: 900 } });
  try {
    const ended = new Promise((resolve) => page.exposeFunction('codeAutomationExit', resolve));
    const late = new Promise((resolve) => setTimeout(resolve, LIMIT, 'late'));
    await page.goto(address(server.url, workspace, extension, { tests }));
    code = await Promise.race([ended, late, answerLooks(page)]);
    if (code !== 0) {
      await page.screenshot({ path: `${home}/failed.png` });
      console.error(`The tests ended with ${code}; ${home}/failed.png shows the window.`);
    }
  } finally {
    await browser.close();
  }
} finally {
  server.stop();
}
process.exit(code === 0 ? 0 : 1);
