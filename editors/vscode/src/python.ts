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

const EXTENSION = 'ms-python.python';
const USUAL = ['.venv', 'venv'];

export async function environments(folder: vscode.WorkspaceFolder | undefined, log: vscode.LogOutputChannel): Promise<string[]> {
  const around = [process.env['VIRTUAL_ENV'], process.env['CONDA_PREFIX']].filter((found) => found !== undefined && found !== '');
  const within = folder !== undefined && vscode.workspace.isTrusted ? USUAL.map((name) => join(folder.uri.fsPath, name)) : [];
  const chosen = vscode.workspace.isTrusted ? await active(folder, log) : undefined;
  return [...(chosen === undefined ? [] : [chosen]), ...(around as string[]), ...within];
}

/** Tells of another choice in the Python extension, where that is running. */
export function onDidChoose(changed: () => void): vscode.Disposable {
  const python = vscode.extensions.getExtension<PythonExtension>(EXTENSION);
  return python?.isActive === true
    ? python.exports.environments.onDidChangeActiveEnvironmentPath(changed)
    : new vscode.Disposable(() => undefined);
}

async function active(folder: vscode.WorkspaceFolder | undefined, log: vscode.LogOutputChannel): Promise<string | undefined> {
  const python = vscode.extensions.getExtension<PythonExtension>(EXTENSION);
  if (python === undefined) return undefined;
  try {
    const { environments } = await python.activate();
    const found = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder?.uri));
    return found?.executable.sysPrefix;
  } catch (error) {
    log.warn(`The Python extension did not say which environment is chosen: ${String(error)}`);
    return undefined;
  }
}
