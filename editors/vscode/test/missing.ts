/** The extension where there is no `phobos`, a broken one, an old one, and then one. */

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { equal, folder, holds, messagesOf, open, runAll, until, type Tests } from './harness';

const BROKEN = join(homedir(), 'broken');
const TEXT = 'kernel one() {\n}\n';

/** What is said to be lacking in a server that has none of the requests and commands of its own. */
const LACKS: Readonly<Record<string, string>> = {
  'phobos.showPtx': 'the PTX of a kernel',
  'phobos.showSass': 'the SASS of a kernel',
  'phobos.showMemoryMap': 'the shared memory of a kernel',
  'phobos.build': 'builds',
  'phobos.run': 'runs on the emulator',
  'phobos.selectConfiguration': 'a list of configurations',
};

async function set(path: string | undefined): Promise<void> {
  await vscode.workspace.getConfiguration('phobos').update('path', path, vscode.ConfigurationTarget.Workspace);
}

async function symbols(document: vscode.TextDocument): Promise<unknown> {
  const found = await vscode.commands.executeCommand<unknown[]>('vscode.executeDocumentSymbolProvider', document.uri);
  return found?.length;
}

const tests: Tests = {
  'one message says what is missing and what to do': async () => {
    const said = await messagesOf(async () => {
      await open('missing.ph', TEXT);
      const extension = await until('the extension', () => vscode.extensions.getExtension('phobos.phobos'));
      await until('its start', () => extension.isActive);
    });
    equal(said, [
      'Phobos: There is no `phobos` command in the Python environment or on the PATH. ' +
        "Install Phobos into the project's Python environment, or set phobos.path to the command.",
    ]);
  },

  'commands say so, too': async () => {
    await open('missing.ph', TEXT);
    equal(await messagesOf(async () => vscode.commands.executeCommand('phobos.showPtx')), ['Phobos: The language server is not running.']);
    equal(await messagesOf(async () => vscode.commands.executeCommand('phobos.explain', 'unknown-name')), [
      'Phobos: There is no `phobos` command to ask.',
    ]);
  },

  'a path that is wrong is named': async () => {
    const said = await messagesOf(async () => {
      await set(BROKEN);
      await vscode.commands.executeCommand('phobos.restart');
    });
    holds(said.length > 0 && said.every((message) => message.includes(`The setting phobos.path names ${BROKEN}`)), said.join('\n'));
  },

  'a program that is no server is told once, with the log': async () => {
    writeFileSync(BROKEN, '#!/bin/sh\necho no module named phobos >&2\nexit 1\n');
    chmodSync(BROKEN, 0o755);
    const said = await messagesOf(async () => vscode.commands.executeCommand('phobos.restart'));
    equal(said, [
      `Phobos: ${BROKEN} lsp does not run (no module named phobos). ` +
        'The log says more; `phobos doctor` in a terminal says what is missing.',
    ]);
  },

  'once the setting is right, the server starts': async () => {
    const { document } = await open('found.ph', TEXT);
    const said = await messagesOf(async () => {
      await set(process.env['PHOBOS_TEST_COMMAND']);
      await until('symbols', async () => (await symbols(document)) === 1);
    });
    equal(said, []);
    await set(undefined);
  },

  'what an old server lacks is said, with what to do': async () => {
    const { document } = await open('old.ph', TEXT);
    const old = join(homedir(), 'old');
    writeFileSync(old, `#!/bin/sh\nPHOBOS_STANDIN=old exec '${process.env['PHOBOS_TEST_COMMAND']}' "$@"\n`);
    chmodSync(old, 0o755);
    await set(old);
    equal(await messagesOf(async () => vscode.commands.executeCommand('phobos.restart')), []);
    await until('symbols', async () => (await symbols(document)) === 1);
    for (const [command, what] of Object.entries(LACKS)) {
      const said = await messagesOf(async () => vscode.commands.executeCommand(command));
      equal(said, [`Phobos: The installed Phobos 9.9 does not offer ${what}: install a newer one.`]);
    }
    await set(undefined);
  },

  'the command of an environment in the folder is found': async () => {
    const { document } = await open('environment.ph', TEXT);
    const scripts = join(folder(), '.venv', 'bin');
    mkdirSync(scripts, { recursive: true });
    symlinkSync(process.env['PHOBOS_TEST_COMMAND'] ?? '', join(scripts, 'phobos'));
    equal(await messagesOf(async () => vscode.commands.executeCommand('phobos.restart')), []);
    await until('symbols', async () => (await symbols(document)) === 1);
    const [task] = await vscode.tasks.fetchTasks({ type: 'phobos' });
    holds(task?.execution instanceof vscode.ProcessExecution, 'a task is a process');
    equal(task.execution.process, join(scripts, 'phobos'));
  },
};

export const run = (): Promise<void> => runAll(tests);
