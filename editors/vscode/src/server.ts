/**
 * The language server's life: found, started, restarted, stopped; and what state that is in.
 *
 * Starts and stops wait for each other, so that there is never more than one server.
 */

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type ErrorHandler,
  type LanguageClientOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import type { DeletedFiles } from './deleted';
import { locate, type Located } from './locate';
import { STATUS, type Status } from './protocol';
import type { Environments } from './python';

export const LANGUAGE = 'phobos';

export type Condition =
  | { readonly kind: 'starting' | 'stopped' }
  | { readonly kind: 'running'; readonly command: string; readonly version: string }
  /** There is no command to run. */
  | { readonly kind: 'missing'; readonly problem: string }
  /** The command is there, and no server came of it, or none is left. */
  | { readonly kind: 'failed'; readonly command: string; readonly problem: string };

export interface Server {
  /** The client of a server that runs. */
  client(): LanguageClient | undefined;
  condition(): Condition;
  /** Whether the server that runs has a command for `workspace/executeCommand`. */
  offers(command: string): boolean;
  readonly onDidChange: vscode.Event<Condition>;
  readonly onStatus: vscode.Event<Status>;
  /** Looks for the command anew. */
  restart(): Promise<void>;
  /** Restarts if another command would be found now. */
  relocate(): Promise<void>;
  stop(): Promise<void>;
}

/** `own` are the commands that are done here, of which the server's are not to be registered. */
export function server(log: vscode.LogOutputChannel, own: ReadonlySet<string>, deleted: DeletedFiles, python: Environments): Server {
  const changed = new vscode.EventEmitter<Condition>();
  const status = new vscode.EventEmitter<Status>();
  let condition: Condition = { kind: 'stopped' };
  let client: LanguageClient | undefined;
  let offered: readonly string[] = [];
  let turn: Promise<void> = Promise.resolve();

  function become(next: Condition): void {
    condition = next;
    changed.fire(next);
  }

  function inTurn(work: () => Promise<void>): Promise<void> {
    turn = turn.then(work).catch((error: unknown) => log.error(String(error)));
    return turn;
  }

  async function stop(): Promise<void> {
    const running = client;
    client = undefined;
    offered = [];
    if (running === undefined) return;
    try {
      await running.dispose();
    } catch (error) {
      log.warn(`The server did not stop in order: ${String(error)}`);
    }
  }

  async function start(found: Located): Promise<void> {
    if ('problem' in found) {
      log.error(found.problem);
      become({ kind: 'missing', problem: found.problem });
      return;
    }
    const { command } = found;
    log.info(`The server is ${command} lsp, from ${found.from}.`);
    become({ kind: 'starting' });
    let began = false;
    const stderr = complaints(log);
    const next: LanguageClient = new LanguageClient(
      LANGUAGE,
      'Phobos',
      { command, args: ['lsp'], options: cwd() },
      {
        ...options(log, stderr.read),
        ...deleted.options,
        errorHandler: afterBeginning(() => (began ? next.createDefaultErrorHandler() : undefined)),
      },
    );
    // Until it has begun, the client's words are for the log: what there is to say is said once, by `messages`.
    const said = next.error.bind(next);
    next.error = (message, data, show) => said(message, data, began ? show : false);
    next.registerFeature(introduction(own, (commands) => (offered = commands)));
    next.onNotification(STATUS, (told: Status) => status.fire(told));
    next.onDidChangeState(({ newState }) => {
      if (client !== next || !began) return;
      if (newState === State.Running) become({ kind: 'running', command, version: versionOf(next) });
      else if (newState === State.Starting) become({ kind: 'starting' });
      else become({ kind: 'failed', command, problem: 'The server ended.' });
    });
    client = next;
    try {
      await next.start();
      began = true;
      become({ kind: 'running', command, version: versionOf(next) });
    } catch (error) {
      client = undefined;
      log.error(`The server did not start: ${String(error)}`);
      const problem = (await stderr.last()) || (error instanceof Error ? error.message : String(error));
      become({ kind: 'failed', command, problem });
    }
  }

  return {
    client: () => (condition.kind === 'running' ? client : undefined),
    condition: () => condition,
    offers: (command) => offered.includes(command),
    onDidChange: changed.event,
    onStatus: status.event,
    restart: () =>
      inTurn(async () => {
        await stop();
        await start(await find(python));
      }),
    relocate: () =>
      inTurn(async () => {
        const found = await find(python);
        const current = 'command' in condition ? condition.command : undefined;
        if ('command' in found && found.command === current && condition.kind === 'running') return;
        if ('problem' in found && condition.kind === 'missing' && found.problem === condition.problem) return;
        await stop();
        await start(found);
      }),
    stop: () => inTurn(stop),
  };
}

async function find(python: Environments): Promise<Located> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  return locate({
    setting: vscode.workspace.getConfiguration(LANGUAGE, folder).get('path', '').trim(),
    workspaceFolder: folder?.uri.fsPath,
    environments: await python.folders(folder),
    path: process.env['PATH'] ?? '',
  });
}

function cwd(): { cwd?: string } {
  const folder = vscode.workspace.workspaceFolders?.[0];
  return folder?.uri.scheme === 'file' ? { cwd: folder.uri.fsPath } : {};
}

function options(log: vscode.LogOutputChannel, stderr: (input: Readable) => void): LanguageClientOptions {
  return {
    documentSelector: [
      { language: LANGUAGE, scheme: 'file' },
      { language: LANGUAGE, scheme: 'untitled' },
    ],
    outputChannel: log,
    diagnosticCollectionName: LANGUAGE,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    stdioOptions: { stdout: () => undefined, stderr },
  };
}

/** What a server writes beside its messages goes to the log. `last` is its last word, once it has ended. */
function complaints(log: vscode.LogOutputChannel): { read(input: Readable): void; last(): Promise<string> } {
  let last = '';
  let ended: Promise<unknown> = Promise.resolve();
  return {
    read(input) {
      const lines = createInterface(input);
      ended = once(lines, 'close');
      lines.on('line', (line) => {
        log.warn(line);
        if (line.trim() !== '') last = line.trim();
      });
    },
    last: async () => {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000))]);
      return last;
    },
  };
}

/** A server that never began is not started again; another as is usual. */
function afterBeginning(usual: () => ErrorHandler | undefined): ErrorHandler {
  let handler: ErrorHandler | undefined;
  return {
    error: () => ({ action: ErrorAction.Continue, handled: true }),
    closed: () => {
      handler ??= usual();
      return handler?.closed() ?? { action: CloseAction.DoNotRestart, handled: true };
    },
  };
}

/** Says that status may be sent, and takes from the server's commands those that are done here. */
function introduction(own: ReadonlySet<string>, offered: (commands: readonly string[]) => void): StaticFeature {
  return {
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = { ...capabilities.experimental, phobos: { status: true } };
    },
    preInitialize: (capabilities) => {
      const provider = capabilities.executeCommandProvider;
      if (provider === undefined) return;
      offered(provider.commands);
      provider.commands = provider.commands.filter((command) => !own.has(command));
    },
    initialize: () => undefined,
    getState: () => ({ kind: 'static' }),
    clear: () => undefined,
  };
}

function versionOf(client: LanguageClient): string {
  return client.initializeResult?.serverInfo?.version ?? '';
}
