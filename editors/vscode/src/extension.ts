/** Puts the parts together; says nothing itself. */

import * as vscode from 'vscode';
import { beside } from './beside';
import { COMMANDS, commands } from './commands';
import { deletedFiles } from './deleted';
import { explanations } from './explain';
import { listings } from './listings';
import { messages } from './messages';
import { environments } from './python';
import { server, type Server } from './server';
import { status } from './status';
import { tasks } from './tasks';

let running: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('Phobos', { log: true });
  const deleted = deletedFiles('**/*.ph');
  const python = environments(log);
  const served = server(log, new Set(COMMANDS), deleted, python);
  running = served;
  const shown = listings(served, log);
  const relocate = () => void served.relocate();
  context.subscriptions.push(
    log,
    deleted,
    messages(served),
    status(served),
    explanations(served),
    shown,
    beside(shown),
    commands(served, shown, log),
    tasks(served),
    python,
    python.onDidChoose(relocate),
    vscode.workspace.onDidGrantWorkspaceTrust(relocate),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('phobos.path') && relocate()),
  );
  await served.restart();
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}
