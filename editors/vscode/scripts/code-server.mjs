// A VS Code without a screen: code-server, and a browser with its page. For the tests and the pictures of the pages.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'update.showReleaseNotes': false,
};

/**
 * Starts the server of an installation (`scripts/fetch-engine.sh`). All that it writes is below `home`. `stop` ends it
 * with everything that it started. Folders are trusted, unless `restricted`.
 */
export async function startServer({ installation, home, settings = {}, restricted = false }) {
  const user = join(home, 'data', 'User');
  mkdirSync(user, { recursive: true });
  writeFileSync(join(user, 'settings.json'), JSON.stringify({ ...SETTINGS, 'security.workspace.trust.startupPrompt': 'never', ...settings }));
  const entry = join(installation, 'node_modules', 'code-server', 'out', 'node', 'entry.js');
  const options = ['--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry', '--disable-update-check'];
  const folders = ['--user-data-dir', join(home, 'data'), '--extensions-dir', join(home, 'extensions')];
  const environment = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    VSCODE_CLI: '1', // else the environment is that of a login shell
  };
  const child = spawn(
    process.execPath,
    [entry, ...options, ...folders, ...(restricted ? [] : ['--disable-workspace-trust']), '--ignore-last-opened'],
    { detached: true, env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const stop = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  let said = '';
  const url = await new Promise((resolve, reject) => {
    const read = (data) => {
      said += data;
      const found = /listening on (http:\/\/[\d.]+:\d+)/.exec(said);
      if (found) resolve(found[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', (code) => reject(new Error(`code-server ended with ${code}: ${said}`)));
  });
  return { url, stop };
}

export async function startBrowser(options = {}) {
  const offline = ['--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', ...offline],
  });
  return { browser, page: await browser.newPage(options) };
}

/** The address of a window on a folder, with an extension under development, and with tests to run or a file, if any. */
export function address(url, folder, extension, { tests, file } = {}) {
  const remote = (path) => `vscode-remote://${new URL(url).host}${path}`;
  const payload = [
    ['extensionDevelopmentPath', remote(extension)],
    ...(tests === undefined ? [] : [['extensionTestsPath', remote(tests)]]),
    ...(file === undefined ? [] : [['openFile', remote(file)]]),
    ['skipWelcome', 'true'],
    ['skipReleaseNotes', 'true'],
  ];
  return `${url}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
}
