/** Which kernel a command is about: the one it is told, or the one at the cursor. */

import * as vscode from 'vscode';
import { LANGUAGE } from './server';

export interface Place {
  readonly document: vscode.TextDocument;
  readonly kernel?: string;
  readonly position?: vscode.Position;
}

/** `uri` and `kernel` are the arguments that a code lens gives; a menu gives others, or none. */
export async function place(uri: unknown, kernel: unknown): Promise<Place | undefined> {
  if (typeof uri === 'string' && typeof kernel === 'string') {
    return { document: await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)), kernel };
  }
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== LANGUAGE) return undefined;
  return { document: editor.document, position: editor.selection.active };
}

/** The name of the kernel of a place: of the one around the position, or else of the first. */
export async function kernelName({ document, kernel, position }: Place): Promise<string | undefined> {
  if (kernel !== undefined) return kernel;
  const symbols = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
    'vscode.executeDocumentSymbolProvider',
    document.uri,
  );
  const kernels = (symbols ?? []).filter(({ detail }) => detail === 'kernel');
  const around = kernels.find(({ range }) => position !== undefined && range.contains(position));
  return (around ?? kernels[0])?.name;
}
