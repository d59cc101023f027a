/** What a diagnostic code means: the text of `phobos explain`, as a document. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { LANGUAGE, type Server } from './server';

const SCHEME = 'phobos-explain';

/** The text of each code is the same as long as the command is. */
export function explanations(server: Server): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: ({ path }) => phobos(server, path.slice(1)),
  });
}

export async function explain(server: Server, given: unknown): Promise<void> {
  const code = typeof given === 'string' ? given : await asked();
  if (code === undefined) return;
  await phobos(server, code); // says what is wrong before there is a document
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${code}` });
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
}

/** The codes of the file's diagnostics, those at the cursor first; or one that is typed. */
async function asked(): Promise<string | undefined> {
  const editor = vscode.window.activeTextEditor;
  const found = editor === undefined ? [] : vscode.languages.getDiagnostics(editor.document.uri);
  const line = editor?.selection.active.line;
  const here = found.filter(({ range }) => line !== undefined && range.start.line <= line && line <= range.end.line);
  const codes = [...new Set([...here, ...found].map(codeOf).filter((code) => code !== undefined))];
  const title = 'Phobos: which diagnostic?';
  if (codes.length === 1 && here.length > 0) return codes[0];
  if (codes.length > 0) return vscode.window.showQuickPick(codes, { title });
  return vscode.window.showInputBox({ title, placeHolder: 'unknown-name' });
}

function codeOf({ source, code }: vscode.Diagnostic): string | undefined {
  const value = typeof code === 'object' ? code.value : code;
  return source?.startsWith(LANGUAGE) === true && typeof value === 'string' ? value : undefined;
}

async function phobos(server: Server, code: string): Promise<string> {
  const condition = server.condition();
  if (!('command' in condition)) throw new Error('There is no `phobos` command to ask.');
  try {
    const { stdout } = await promisify(execFile)(condition.command, ['explain', code], { encoding: 'utf8' });
    return stdout;
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim();
    throw new Error(said === undefined || said === '' ? String(error) : said.replace(/^error: /, ''));
  }
}
