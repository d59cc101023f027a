/**
 * The folders of Python environments in which `phobos` may be installed, the most wanted first: the one chosen in the
 * Python extension, the one that VS Code was started in, and one in the workspace, if its programs may be run.
 */

import { join } from 'node:path';
import * as vscode from 'vscode';

/** What is used of the Python extension's interface. */
interface PythonExtension {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: { readonly path: string }): Promise<{ readonly executable: { readonly sysPrefix: string } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

export interface Environments {
  folders(folder: vscode.WorkspaceFolder | undefined): Promise<string[]>;
  /** Another one is chosen in the Python extension. */
  readonly onDidChoose: vscode.Event<void>;
  dispose(): void;
}

const EXTENSION = 'ms-python.python';
const USUAL = ['.venv', 'venv'];

export function environments(log: vscode.LogOutputChannel): Environments {
  const chosen = new vscode.EventEmitter<void>();
  let listening: vscode.Disposable | undefined;

  async function active(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
    const python = vscode.extensions.getExtension<PythonExtension>(EXTENSION);
    if (python === undefined) return undefined;
    try {
      const { environments } = await python.activate();
      // Not before: it may have been asleep until it was asked.
      listening ??= environments.onDidChangeActiveEnvironmentPath(() => chosen.fire());
      const found = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder?.uri));
      return found?.executable.sysPrefix;
    } catch (error) {
      log.warn(`The Python extension did not say which environment is chosen: ${String(error)}`);
      return undefined;
    }
  }

  return {
    async folders(folder) {
      const around = [process.env['VIRTUAL_ENV'], process.env['CONDA_PREFIX']];
      const within = folder !== undefined && vscode.workspace.isTrusted ? USUAL.map((name) => join(folder.uri.fsPath, name)) : [];
      const wanted = vscode.workspace.isTrusted ? await active(folder) : undefined;
      return [wanted, ...around, ...within].filter((found) => found !== undefined && found !== '') as string[];
    },
    onDidChoose: chosen.event,
    dispose: () => {
      listening?.dispose();
      chosen.dispose();
    },
  };
}
