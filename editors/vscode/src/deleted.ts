/**
 * Takes the diagnostics of deleted files away.
 *
 * The client asks for a file's diagnostics a last time when the file is closed, and then waits for a report of the
 * workspace to bring others. There is never one of a file that was deleted with its editor.
 */

import * as vscode from 'vscode';
import { DefaultDiagnosticCollectionProvider, type LanguageClientOptions } from 'vscode-languageclient/node';

export interface DeletedFiles {
  readonly options: Pick<LanguageClientOptions, 'diagnosticCollectionProvider' | 'middleware'>;
  dispose(): void;
}

export function deletedFiles(pattern: string): DeletedFiles {
  const collections = new Set<vscode.DiagnosticCollection>();
  const deleted = new Set<string>();
  const usual = new DefaultDiagnosticCollectionProvider();

  function lost(uri: vscode.Uri): void {
    deleted.add(uri.toString());
    for (const collection of collections) collection.delete(uri);
  }

  function seen(uri: vscode.Uri): void {
    deleted.delete(uri.toString());
  }

  const watcher = vscode.workspace.createFileSystemWatcher(pattern, false, true, false);
  const disposables = [
    watcher,
    watcher.onDidDelete(lost),
    watcher.onDidCreate(seen),
    vscode.workspace.onDidDeleteFiles(({ files }) => files.forEach(lost)),
    vscode.workspace.onDidCreateFiles(({ files }) => files.forEach(seen)),
    vscode.workspace.onDidRenameFiles(({ files }) =>
      files.forEach(({ oldUri, newUri }) => {
        lost(oldUri);
        seen(newUri);
      }),
    ),
    vscode.workspace.onDidOpenTextDocument(({ uri }) => seen(uri)),
    vscode.workspace.onDidSaveTextDocument(({ uri }) => seen(uri)),
  ];

  return {
    options: {
      diagnosticCollectionProvider: {
        create(name, source) {
          const made = usual.create(name, source);
          collections.add(made);
          return made;
        },
        dispose(collection, source) {
          collections.delete(collection);
          usual.dispose(collection, source);
        },
      },
      middleware: {
        // The last answer may come after the end of the file.
        provideDiagnostics: async (document, previous, token, next) => {
          const report = await next(document, previous, token);
          const uri = document instanceof vscode.Uri ? document : document.uri;
          return report != null && 'items' in report && deleted.has(uri.toString()) ? { ...report, items: [] } : report;
        },
      },
    },
    dispose: () => vscode.Disposable.from(...disposables).dispose(),
  };
}
