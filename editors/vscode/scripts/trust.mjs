// Which `phobos` is run in a folder that is not trusted, and then in the same folder, trusted.
//
// usage: node trust.mjs INSTALLATION HOME WORKSPACE EXTENSION FILE STARTED
//
// The command writes its path to the file STARTED when it is started. Printed are the paths of both times.

import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { address, startBrowser, startServer } from './code-server.mjs';

const [installation, home, workspace, extension, file, started] = process.argv.slice(2);

async function first(restricted) {
  rmSync(started, { force: true });
  const place = join(home, String(restricted));
  mkdirSync(place, { recursive: true });
  const server = await startServer({ installation, home: place, restricted });
  try {
    const { browser, page } = await startBrowser();
    try {
      await page.goto(address(server.url, workspace, extension, { file }));
      const end = Date.now() + 120_000;
      while (!existsSync(started) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await browser.close();
    }
  } finally {
    server.stop();
  }
  return readFileSync(started, 'utf8').split('\n')[0];
}

console.log(JSON.stringify([await first(true), await first(false)]));
