/** Tasks: `phobos check` and `phobos build`, whose findings `$phobos` reads. */

import * as vscode from 'vscode';
import { LANGUAGE, type Server } from './server';

interface Definition extends vscode.TaskDefinition {
  readonly command: 'check' | 'build';
  readonly paths?: readonly string[];
  readonly args?: readonly string[];
}

const OFFERED = ['check', 'build'] as const;

export function tasks(server: Server): vscode.Disposable {
  return vscode.tasks.registerTaskProvider(LANGUAGE, {
    provideTasks: () =>
      (vscode.workspace.workspaceFolders ?? []).flatMap((folder) =>
        OFFERED.map((command) => task(server, { type: LANGUAGE, command }, folder, `${command} all kernels`)),
      ),
    resolveTask: (given) => {
      const definition = given.definition as Definition;
      const scope = typeof given.scope === 'object' ? given.scope : vscode.workspace.workspaceFolders?.[0];
      return scope && task(server, definition, scope, given.name);
    },
  });
}

function task(server: Server, definition: Definition, folder: vscode.WorkspaceFolder, name: string): vscode.Task {
  const condition = server.condition();
  const program = 'command' in condition ? condition.command : LANGUAGE;
  const words = [definition.command, '--format', 'concise', ...(definition.args ?? []), ...(definition.paths ?? ['.'])];
  const made = new vscode.Task(
    definition,
    folder,
    name,
    LANGUAGE,
    new vscode.ProcessExecution(program, words, { cwd: folder.uri.fsPath, env: { PYTHONUTF8: '1', NO_COLOR: '1' } }),
    '$phobos',
  );
  made.group = definition.command === 'build' ? vscode.TaskGroup.Build : vscode.TaskGroup.Test;
  made.presentationOptions = { reveal: vscode.TaskRevealKind.Silent, clear: true };
  return made;
}
