/** The language status items: whether the server is well and up to date, and the target that is shown. */

import * as vscode from 'vscode';
import { ask, STATUS, type Status } from './protocol';
import { LANGUAGE, type Condition, type Server } from './server';

const SEVERITY = vscode.LanguageStatusSeverity;

export function status(server: Server): vscode.Disposable {
  const state = vscode.languages.createLanguageStatusItem('phobos.state', { language: LANGUAGE });
  state.name = 'Phobos';
  const target = vscode.languages.createLanguageStatusItem('phobos.target', { language: LANGUAGE });
  target.name = 'Phobos target';
  target.command = { command: 'phobos.selectTarget', title: 'Change' };
  /** The latest of each document. */
  const known = new Map<string, Status>();

  function show(): void {
    const uri = current()?.uri;
    const told = uri === undefined ? undefined : known.get(uri.toString());
    Object.assign(state, look(server.condition(), told));
    target.text = told?.target ?? firstTarget(uri);
  }

  async function learn(): Promise<void> {
    const uri = current()?.uri.toString();
    if (uri !== undefined && server.client() !== undefined) {
      const answer = await ask(server.client(), STATUS, { textDocument: { uri } });
      if (answer.kind === 'answer' && answer.value !== null) known.set(uri, answer.value);
    }
    show();
  }

  show();
  return vscode.Disposable.from(
    state,
    target,
    server.onDidChange(() => {
      known.clear();
      void learn();
    }),
    server.onStatus((told) => {
      if (told.uri === undefined) return;
      known.set(vscode.Uri.parse(told.uri).toString(), told);
      show();
    }),
    vscode.window.onDidChangeActiveTextEditor(() => void learn()),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(LANGUAGE) && void learn()),
    vscode.workspace.onDidCloseTextDocument((document) => known.delete(document.uri.toString())),
  );
}

interface Look {
  readonly text: string;
  readonly detail: string;
  readonly severity: vscode.LanguageStatusSeverity;
  readonly busy: boolean;
  readonly command: vscode.Command;
}

const LOG: vscode.Command = { command: 'phobos.showLog', title: 'Log' };
const RESTART: vscode.Command = { command: 'phobos.restart', title: 'Restart' };

export function look(condition: Condition, told: Status | undefined): Look {
  const calm = { severity: SEVERITY.Information, busy: false, command: LOG };
  switch (condition.kind) {
    case 'starting':
      return { ...calm, text: 'Phobos starts', detail: '', busy: true };
    case 'stopped':
      return { ...calm, text: 'Phobos is stopped', detail: '', command: RESTART };
    case 'missing':
    case 'failed':
      return { ...calm, text: 'No Phobos', detail: condition.problem, severity: SEVERITY.Error, command: RESTART };
    case 'running':
      if (told === undefined) return { ...calm, text: `Phobos ${condition.version}`, detail: condition.command };
      return {
        ...calm,
        text: words(told),
        detail: told.message,
        busy: told.state === 'checking' || told.state === 'building',
        severity: told.state === 'failed' || told.ptxas === null ? SEVERITY.Warning : SEVERITY.Information,
      };
  }
}

function words(told: Status): string {
  switch (told.state) {
    case 'checking':
      return 'Checking';
    case 'building':
      return 'Building';
    case 'failed':
      return 'Not built';
    case 'idle':
      return told.fresh ? 'Up to date' : 'Behind the text';
  }
}

function current(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === LANGUAGE ? document : undefined;
}

function firstTarget(uri: vscode.Uri | undefined): string {
  const target = vscode.workspace.getConfiguration(LANGUAGE, uri).get<string | string[]>('target', '');
  return (Array.isArray(target) ? target[0] : target) ?? '';
}
