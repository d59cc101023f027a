/** Which `phobos` is run where there are several, and what its tasks find. */

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { equal, folder, holds, messagesOf, open, runAll, until, type Tests } from './harness';

const TEXT = 'kernel one() {\n}\n';
const WRONG = 'kernel k(A: tensor<f32>[64]) {\n  let unread = 1\n  A[ctx.lane] = y\n}\n';

/** The stand-in for the Python extension. */
interface Python {
  choose(prefix: string | undefined): void;
}

/** An environment with the command in it; its folder. */
function environment(...place: string[]): string {
  const scripts = join(...place, 'bin');
  mkdirSync(scripts, { recursive: true });
  symlinkSync(process.env['PHOBOS_TEST_COMMAND'] ?? '', join(scripts, 'phobos'));
  return join(...place);
}

async function started(): Promise<string> {
  equal(await messagesOf(async () => vscode.commands.executeCommand('phobos.restart')), []);
  return command();
}

/** The command that tasks run, which is that of the server. */
async function command(): Promise<string> {
  const [task] = await vscode.tasks.fetchTasks({ type: 'phobos' });
  holds(task?.execution instanceof vscode.ProcessExecution, 'a task is a process');
  return task.execution.process;
}

async function runs(wanted: string): Promise<void> {
  await until(wanted, async () => (await command()) === wanted);
}

function python(): vscode.Extension<Python> {
  const found = vscode.extensions.getExtension<Python>('ms-python.python');
  holds(found !== undefined, 'there is no Python extension');
  return found;
}

function problems(uri: vscode.Uri): unknown[] {
  return vscode.languages
    .getDiagnostics(uri)
    .filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error)
    .map(({ code, message, range }) => [typeof code === 'object' ? code.value : code, message, range.start.line, range.start.character]);
}

/** Runs a task to its end; how it ended. */
async function ended(task: vscode.Task): Promise<number | undefined> {
  const code = new Promise<number | undefined>((resolve) => {
    const listening = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      if (execution.task.name !== task.name) return;
      listening.dispose();
      resolve(exitCode);
    });
  });
  await vscode.tasks.executeTask(task);
  return code;
}

const tests: Tests = {
  'the last is the PATH': async () => {
    await open('one.ph', TEXT);
    const extension = await until('the extension', () => vscode.extensions.getExtension('phobos.phobos'));
    await until('its start', () => extension.isActive);
    equal(await started(), process.env['PHOBOS_TEST_COMMAND']);
  },

  'before it an environment in the folder': async () => {
    const place = environment(folder(), 'venv');
    equal(await started(), join(place, 'bin', 'phobos'));
    const first = environment(folder(), '.venv');
    equal(await started(), join(first, 'bin', 'phobos'));
  },

  'before that the ones that VS Code was started in': async () => {
    process.env['CONDA_PREFIX'] = environment(homedir(), 'conda');
    equal(await started(), join(homedir(), 'conda', 'bin', 'phobos'));
    process.env['VIRTUAL_ENV'] = environment(homedir(), 'virtual');
    equal(await started(), join(homedir(), 'virtual', 'bin', 'phobos'));
  },

  'one without the command is passed over': async () => {
    process.env['VIRTUAL_ENV'] = join(homedir(), 'nothing');
    equal(await started(), join(homedir(), 'conda', 'bin', 'phobos'));
  },

  'the one chosen in the Python extension comes first, at once': async () => {
    const place = environment(homedir(), 'chosen');
    // It was woken by this extension, not before it.
    holds(python().isActive, 'the Python extension was not asked');
    python().exports.choose(place);
    await runs(join(place, 'bin', 'phobos'));
    python().exports.choose(environment(homedir(), 'other'));
    await runs(join(homedir(), 'other', 'bin', 'phobos'));
  },

  'a Python extension that fails is no hindrance': async () => {
    python().exports.choose(undefined);
    await runs(join(homedir(), 'conda', 'bin', 'phobos'));
  },

  'a path that is set comes before all': async () => {
    const settings = vscode.workspace.getConfiguration('phobos');
    const place = environment(folder(), 'tool');
    await settings.update('path', '${workspaceFolder}/tool/bin/phobos', vscode.ConfigurationTarget.Workspace);
    await runs(join(place, 'bin', 'phobos'));
    await settings.update('path', undefined, vscode.ConfigurationTarget.Workspace);
    await runs(join(homedir(), 'conda', 'bin', 'phobos'));
  },

  'a task that is run tells what it finds, but not what the editor knows already': async () => {
    rmSync(join(homedir(), 'conda', 'bin', 'phobos'));
    symlinkSync(process.env['PHOBOS_TEST_REAL'] ?? '', join(homedir(), 'conda', 'bin', 'phobos'));
    const closed = vscode.Uri.file(join(folder(), 'below', 'a b é.ph'));
    mkdirSync(join(folder(), 'below'));
    writeFileSync(closed.fsPath, WRONG);
    const { document } = await open('open.ph', WRONG);
    equal(await started(), join(homedir(), 'conda', 'bin', 'phobos'));
    const wanted = [['unknown-name', '`y` is not declared here', 2, 16]];
    await until('the problem', () => problems(document.uri).length > 0);
    const found = await vscode.tasks.fetchTasks({ type: 'phobos' });
    const check = found.find(({ definition }) => definition['command'] === 'check');
    holds(check !== undefined, 'there is no task that checks');
    equal(await ended(check), 1);
    await until('the problem', () => problems(closed).length > 0);
    equal(problems(closed), wanted);
    equal(problems(document.uri), wanted);
  },

  'a task of the folder has its own paths and options': async () => {
    const tasks = [{ type: 'phobos', command: 'check', label: 'mine', paths: ['one.ph'], args: ['--target', 'sm_90'], problemMatcher: '$phobos' }];
    await vscode.workspace.getConfiguration('tasks').update('version', '2.0.0', vscode.ConfigurationTarget.Workspace);
    await vscode.workspace.getConfiguration('tasks').update('tasks', tasks, vscode.ConfigurationTarget.Workspace);
    const mine = await until('the task', async () => (await vscode.tasks.fetchTasks()).find(({ name }) => name === 'mine'));
    equal(await ended(mine), 0);
  },
};

export const run = (): Promise<void> => runAll(tests);
