/** What tests are made of: named functions, run one after the other, whose results go to a file. */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';

export type Tests = Readonly<Record<string, () => Promise<void>>>;

/** Where a part of a test has to get to. */
const PATIENCE = 30_000;
const STEP = 20;

/** Where so many have failed, the reason is another than what the rest would say. */
const ENOUGH = 3;

export async function runAll(tests: Tests): Promise<void> {
  const results: Record<string, string | null> = {};
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      results[name] = null;
    } catch (error) {
      results[name] = error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
    writeFileSync(process.env['PHOBOS_TEST_RESULT'] ?? '', JSON.stringify(results));
    if (Object.values(results).filter((problem) => problem !== null).length === ENOUGH) return;
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  }
}

/** What a look gives, as soon as it is true to anyone. */
export async function until<T>(what: string, look: () => T | Thenable<T>): Promise<NonNullable<T>> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, STEP));
  }
}

/** A file of the workspace, opened with a text that is written to it first. */
export async function open(name: string, text: string): Promise<vscode.TextEditor> {
  const uri = vscode.Uri.file(join(folder(), name));
  writeFileSync(uri.fsPath, text);
  const editor = await vscode.window.showTextDocument(uri, { preview: false });
  if (editor.document.getText() !== text) await replace(editor, text);
  return editor;
}

export async function replace(editor: vscode.TextEditor, text: string): Promise<void> {
  const { document } = editor;
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  if (!(await editor.edit((edit) => edit.replace(whole, text)))) throw new Error('the edit was refused');
}

export function folder(): string {
  const found = vscode.workspace.workspaceFolders?.[0];
  if (found === undefined) throw new Error('there is no folder');
  return found.uri.fsPath;
}

/** The start of the nth time that a text stands in a document. */
export function at(document: vscode.TextDocument, text: string, nth = 1): vscode.Position {
  let index = -1;
  for (let i = 0; i < nth; i++) index = document.getText().indexOf(text, index + 1);
  if (index < 0) throw new Error(`\`${text}\` does not stand there`);
  return document.positionAt(index);
}

/** The messages shown while something is done. Each is closed at once, with a choice if one is given. */
export async function messagesOf(work: () => Promise<unknown>, choice?: string): Promise<string[]> {
  const { window } = vscode;
  const names = ['showErrorMessage', 'showWarningMessage', 'showInformationMessage'] as const;
  const before = names.map((name) => window[name]);
  const said: string[] = [];
  const listen = (message: string) => {
    said.push(message);
    return Promise.resolve(choice);
  };
  for (const name of names) Object.assign(window, { [name]: listen });
  try {
    await work();
  } finally {
    names.forEach((name, index) => Object.assign(window, { [name]: before[index] }));
  }
  return said;
}

export function equal(found: unknown, wanted: unknown): void {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`found ${one}, wanted ${other}`);
}

export function holds(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

export interface Seen {
  readonly uri: string;
  readonly lines: readonly SeenLine[];
}

export interface SeenLine {
  readonly text: string;
  readonly marked: boolean;
  readonly faded: boolean;
  /** The words of it that are slanted. */
  readonly slanted: readonly string[];
  /** What stands after it. */
  readonly note: string;
}

let looks = 0;

/** What a person sees now of the editor whose address has a text in it. */
export async function seen(part: string): Promise<Seen | undefined> {
  const asked = String(++looks);
  const [look, answer] = ['look', 'seen'].map((name) => join(homedir(), name)) as [string, string];
  writeFileSync(`${look}.new`, asked);
  renameSync(`${look}.new`, look);
  const read = () => (existsSync(answer) ? (JSON.parse(readFileSync(answer, 'utf8')) as { asked: string; editors: Seen[] }) : undefined);
  const { editors } = await until('a look', () => {
    const found = read();
    return found?.asked === asked ? found : undefined;
  });
  return editors.find(({ uri }) => uri.includes(part));
}

/** The texts of the lines that are marked, once they are as wanted. */
export async function untilMarked(part: string, wanted: readonly string[]): Promise<void> {
  let found: unknown;
  try {
    await until('the marks', async () => {
      found = (await seen(part))?.lines.flatMap(({ text, marked }) => (marked ? [text] : []));
      return JSON.stringify(found) === JSON.stringify(wanted);
    });
  } catch {
    equal(found, wanted);
  }
}
