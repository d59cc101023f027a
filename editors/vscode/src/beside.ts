/**
 * The side-by-side view: a listing beside its source, each marking what belongs to the cursor's line in the other.
 */

import * as vscode from 'vscode';
import { linesFrom, runs } from './lines';
import { SCHEME, subjectOf, type Listings, type Shown } from './listings';
import { spelled } from './protocol';

export function beside(listings: Listings): vscode.Disposable {
  const linked = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.wordHighlightStrongBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.wordHighlightStrongForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
  const faded = vscode.window.createTextEditorDecorationType({ opacity: '0.55' });
  const noted = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 3em' },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });

  /** Shows how a listing is: what it was built for, whether it is behind, its registers. */
  function dress(editor: vscode.TextEditor): void {
    const shown = listings.shown(editor.document);
    if (shown === undefined) return;
    editor.setDecorations(faded, shown.stale ? [whole(editor.document)] : []);
    editor.setDecorations(noted, notes(shown, editor.document));
  }

  /** Marks in every listing of this source what comes from the cursor's lines. */
  function fromSource(editor: vscode.TextEditor): void {
    const uri = editor.document.uri.toString();
    const { start, end } = editor.selection;
    let any = false;
    for (const other of vscode.window.visibleTextEditors) {
      if (subjectOf(other.document.uri)?.source.toString() !== uri || other.document.uri.scheme !== SCHEME) continue;
      any = true;
      const lines = linesFrom(listings.shown(other.document)?.lines ?? [], start.line, end.line);
      mark(other, lines, true);
    }
    editor.setDecorations(linked, any ? [editor.document.lineAt(editor.selection.active.line).range] : []);
  }

  /** Marks in the source the line that an instruction comes from, and the other instructions of that line. */
  function fromListing(editor: vscode.TextEditor): void {
    const shown = listings.shown(editor.document);
    const source = subjectOf(editor.document.uri)?.source.toString();
    if (shown === undefined || source === undefined) return;
    const line = shown.lines[editor.selection.active.line] ?? null;
    mark(editor, line === null ? [] : linesFrom(shown.lines, line, line), false);
    for (const other of vscode.window.visibleTextEditors) {
      if (other.document.uri.toString() !== source) continue;
      mark(other, line === null || line >= other.document.lineCount ? [] : [line], true);
    }
  }

  function mark(editor: vscode.TextEditor, lines: readonly number[], reveal: boolean): void {
    const ranges = runs(lines).map(([first, last]) => new vscode.Range(first, 0, last, 0));
    editor.setDecorations(linked, ranges);
    const seen = ranges.some((range) => editor.visibleRanges.some((visible) => visible.intersection(range) !== undefined));
    if (reveal && ranges[0] !== undefined && !seen) {
      editor.revealRange(ranges[0], vscode.TextEditorRevealType.InCenter);
    }
  }

  function follow(editor: vscode.TextEditor | undefined): void {
    if (editor === undefined) return;
    if (editor.document.uri.scheme === SCHEME) fromListing(editor);
    else fromSource(editor);
  }

  function again(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme === SCHEME) dress(editor);
    }
    follow(vscode.window.activeTextEditor);
  }

  return vscode.Disposable.from(
    linked,
    faded,
    noted,
    listings.onDidChange(again),
    vscode.window.onDidChangeVisibleTextEditors(again),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      if (textEditor === vscode.window.activeTextEditor) follow(textEditor);
    }),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.uri.scheme === SCHEME) again();
    }),
  );
}

function whole(document: vscode.TextDocument): vscode.Range {
  return new vscode.Range(0, 0, document.lineCount, 0);
}

/** What stands after the lines of a listing: first what it is, then where most registers are live. */
export function notes(shown: Shown, document: vscode.TextDocument): vscode.DecorationOptions[] {
  const found = [note(document, 0, heading(shown))];
  const registers = (shown.listing.registers ?? []).slice(0, document.lineCount).map((count) => count ?? 0);
  const most = Math.max(0, ...registers);
  const where = registers.indexOf(most);
  if (most > 0 && where > 0) found.push(note(document, where, `${most} live registers, the most`));
  return found;
}

export function heading({ listing, stale, problem }: Shown): string {
  const config = spelled(listing.config);
  const words = [listing.kernel, listing.target, ...(config === '' ? [] : [config])];
  if (problem !== '') words.push(`from an earlier text: ${problem}`);
  else if (stale) words.push('from an earlier text');
  return words.join(' · ');
}

function note(document: vscode.TextDocument, line: number, contentText: string): vscode.DecorationOptions {
  const end = document.lineAt(line).range.end;
  return { range: new vscode.Range(end, end), renderOptions: { after: { contentText } } };
}
