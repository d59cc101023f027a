/** The extension with a stand-in for the server, whose answers are known: `tests/editors/standin.py`. */

import * as vscode from 'vscode';
import { moved, runs } from '../src/lines';
import { at, equal, messagesOf, open, replace, runAll, seen, until, untilMarked, type Tests } from './harness';

const TEXT = `// Two kernels.
kernel one() {
  a
}

kernel two() {
  b
  c
}
`;

const items = new Map<string, vscode.LanguageStatusItem>();
const create = vscode.languages.createLanguageStatusItem;
Object.assign(vscode.languages, {
  createLanguageStatusItem: (id: string, selector: vscode.DocumentSelector) => {
    const item = create(id, selector);
    items.set(id, item);
    return item;
  },
});

const VIEW = 'phobos:';

/** The view of a kernel beside a new file with the cursor on a text. */
async function show(command: string, name: string, text: string): Promise<vscode.TextEditor> {
  const editor = await open(name, TEXT);
  place(editor, text);
  await until('the server', async () => {
    const symbols = await vscode.commands.executeCommand<unknown[]>('vscode.executeDocumentSymbolProvider', editor.document.uri);
    return symbols?.length === 2;
  });
  equal(await messagesOf(async () => vscode.commands.executeCommand(command)), []);
  await until('the view', () => listing());
  equal(vscode.window.activeTextEditor?.document.uri, editor.document.uri);
  return editor;
}

function place(editor: vscode.TextEditor, text: string): void {
  const position = at(editor.document, text);
  editor.selection = new vscode.Selection(position, position);
}

function listing(): vscode.TextEditor | undefined {
  return vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === 'phobos');
}

async function untilNoted(wanted: string): Promise<void> {
  await until(`the note ${wanted}`, async () => (await seen(VIEW))?.lines[0]?.note === wanted);
}

async function commandsOf(work: () => Promise<unknown>): Promise<unknown[]> {
  return (await messagesOf(work)).map((message) => JSON.parse(message));
}

const tests: Tests = {
  'the view follows the cursor': async () => {
    const editor = await show('phobos.showPtx', 'follow.ph', 'b\n');
    equal(listing()?.document.getText(), '// two\nfirst 5\nsecond 5\nfirst 6\nsecond 6\nfirst 7\nsecond 7\nfirst 8\nsecond 8');
    equal(listing()?.document.languageId, 'phobos-ptx');
    equal(listing()?.viewColumn, vscode.ViewColumn.Two);
    await untilNoted('two · sm_90 · TILE=32');
    await untilMarked(VIEW, ['first 6', 'second 6']);
    await untilMarked('follow.ph', ['  b']);
    place(editor, 'c\n');
    await untilMarked(VIEW, ['first 7', 'second 7']);
    editor.selection = new vscode.Selection(5, 0, 6, 1);
    await untilMarked(VIEW, ['first 5', 'second 5', 'first 6', 'second 6']);
    place(editor, '//');
    await untilMarked(VIEW, []);
  },

  'the source follows the view': async () => {
    await show('phobos.showPtx', 'back.ph', 'b\n');
    const view = await vscode.window.showTextDocument((await until('the view', listing)).document, vscode.ViewColumn.Two);
    view.selection = new vscode.Selection(6, 0, 6, 0);
    await untilMarked('back.ph', ['  c']);
    await untilMarked(VIEW, ['first 7', 'second 7']);
    view.selection = new vscode.Selection(0, 0, 0, 0);
    await untilMarked('back.ph', []);
  },

  'while the text is ahead, the view is faded and its lines move with the text': async () => {
    const editor = await show('phobos.showPtx', 'stale.ph', 'b\n');
    await untilMarked(VIEW, ['first 6', 'second 6']);
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), '// one more\n// and another\n'));
    await untilNoted('two · sm_90 · TILE=32 · from an earlier text');
    await until('the fading', async () => (await seen(VIEW))?.lines[1]?.faded);
    place(editor, 'c\n');
    await untilMarked(VIEW, ['first 7', 'second 7']);
    await editor.document.save();
    await untilMarked(VIEW, ['first 9', 'second 9']);
    await untilNoted('two · sm_90 · TILE=32');
    await until('its end', async () => (await seen(VIEW))?.lines[1]?.faded === false);
  },

  'lines move with edits': async () => {
    const lines = [null, 2, 3, 3, 5];
    const after = (first: number, last: number, now: number) => moved(lines, [{ first, last, now }]);
    equal(after(0, 0, 2), [null, 4, 5, 5, 7]); // two lines put in above
    equal(after(0, 2, 0), [null, 0, 1, 1, 3]); // and taken out, with the start of line 2
    equal(after(3, 3, 0), lines); // within a line
    equal(after(3, 3, 1), [null, 2, 3, 3, 6]); // a line broken
    equal(after(2, 4, 1), [null, 2, 3, 3, 4]); // three made two
    equal(after(7, 9, 0), lines); // below
    equal(moved(lines, [{ first: 4, last: 5, now: 0 }, { first: 0, last: 0, now: 1 }]), [null, 3, 4, 4, 5]);
    equal(runs([1, 2, 3, 5, 7, 8]), [[1, 3], [5, 5], [7, 8]]);
  },

  'a text that cannot be built leaves the view as it was, and says why': async () => {
    const editor = await show('phobos.showPtx', 'broken.ph', 'b\n');
    await replace(editor, TEXT.replace('b\n', 'BROKEN\n'));
    await editor.document.save();
    await untilNoted('two · sm_90 · TILE=32 · from an earlier text: `broken` has errors: fix them first');
    equal(listing()?.document.lineCount, 9);
    const said = await messagesOf(async () => vscode.commands.executeCommand('phobos.showSass'));
    equal(said, ['Phobos: `broken` has errors: fix them first']);
    equal(items.get('phobos.state')?.text, 'Not built');
  },

  'a kernel that is gone is missed': async () => {
    const editor = await show('phobos.showPtx', 'gone.ph', 'b\n');
    await replace(editor, TEXT.replace('two', 'three'));
    await editor.document.save();
    await untilNoted('two · sm_90 · TILE=32 · from an earlier text: There is no kernel `two`.');
  },

  'SASS tells where most registers are live': async () => {
    await show('phobos.showSass', 'sass.ph', 'b\n');
    equal(listing()?.document.languageId, 'phobos-sass');
    await until('the registers', async () => {
      const notes = (await seen(VIEW))?.lines.flatMap(({ text, note }) => (note === '' ? [] : [[text, note]]));
      return JSON.stringify(notes) === JSON.stringify([['// two', 'two · sm_90 · TILE=32'], ['first 7', '37 live registers, the most']]);
    });
  },

  'two views share a column': async () => {
    const editor = await show('phobos.showPtx', 'two.ph', 'a\n');
    place(editor, 'b\n');
    await vscode.commands.executeCommand('phobos.showSass');
    await until('SASS', () => listing()?.document.languageId === 'phobos-sass');
    equal(vscode.window.tabGroups.all.map(({ tabs }) => tabs.map(({ label }) => label)), [['two.ph'], ['one (PTX)', 'two (SASS)']]);
  },

  'the map of shared memory': async () => {
    await show('phobos.showMemoryMap', 'map.ph', 'a\n');
    equal(listing()?.document.getText(), '0..4096 tile a');
  },

  'a lens names its kernel': async () => {
    const editor = await open('lens.ph', TEXT);
    await vscode.commands.executeCommand('phobos.showPtx', editor.document.uri.toString(), 'one');
    equal((await until('the view', listing)).document.getText().split('\n')[0], '// one');
  },

  'where there is no kernel, that is said': async () => {
    const editor = await open('none.ph', TEXT);
    place(editor, '//');
    const said = await messagesOf(async () => vscode.commands.executeCommand('phobos.showPtx'));
    equal(said, ['Phobos: There is no kernel here.']);
  },

  'building and running are left to the server, with the kernel at the cursor': async () => {
    const editor = await open('commands.ph', TEXT);
    const uri = editor.document.uri.toString();
    for (const command of ['phobos.build', 'phobos.run']) {
      place(editor, 'b\n');
      equal(await commandsOf(async () => vscode.commands.executeCommand(command)), [{ command, arguments: [uri, 'two'] }]);
      equal(await commandsOf(async () => vscode.commands.executeCommand(command, uri, 'one')), [{ command, arguments: [uri, 'one'] }]);
    }
  },

  'a configuration is chosen': async () => {
    const editor = await open('configuration.ph', TEXT);
    place(editor, 'b\n');
    const { showQuickPick } = vscode.window;
    let offered: unknown;
    const pick = (given: vscode.QuickPickItem[]) => {
      offered = given.map(({ label, description, detail }) => [label, description, detail]);
      return Promise.resolve(given[1]);
    };
    Object.assign(vscode.window, { showQuickPick: pick });
    const chosen = await commandsOf(async () => vscode.commands.executeCommand('phobos.selectConfiguration'));
    Object.assign(vscode.window, { showQuickPick });
    equal(offered, [
      ['TILE=32', 'shown', 'regs 32'],
      ['TILE=64', '', 'regs 64'],
    ]);
    equal(chosen, [{ command: 'phobos.selectConfiguration', arguments: [editor.document.uri.toString(), 'two', { TILE: 64 }] }]);
  },

  'a target is chosen': async () => {
    const editor = await open('target.ph', TEXT);
    const { showQuickPick } = vscode.window;
    const pick = (given: vscode.QuickPickItem[]) => Promise.resolve(given.find(({ label }) => label === 'sm_90'));
    Object.assign(vscode.window, { showQuickPick: pick });
    await vscode.commands.executeCommand('phobos.selectTarget');
    Object.assign(vscode.window, { showQuickPick });
    const settings = vscode.workspace.getConfiguration('phobos', editor.document.uri);
    equal(settings.inspect('target')?.workspaceValue, 'sm_90');
    await settings.update('target', undefined, vscode.ConfigurationTarget.Workspace);
  },

  'brackets, comments and Enter': async () => {
    const editor = await open('enter.ph', '');
    for (const text of ['kernel k() {', '\n', 'a']) await vscode.commands.executeCommand('type', { text });
    equal(editor.document.getText(), 'kernel k() {\n  a\n}');
    await vscode.commands.executeCommand('editor.action.commentLine');
    equal(editor.document.getText(), 'kernel k() {\n  // a\n}');
    editor.selection = new vscode.Selection(1, 5, 1, 5);
    await vscode.commands.executeCommand('type', { text: '\n' });
    equal(editor.document.getText(), 'kernel k() {\n  // \n  // a\n}');
  },

  'the status items': async () => {
    const editor = await open('status.ph', TEXT);
    await until('the state', () => items.get('phobos.state')?.text === 'Up to date');
    const state = items.get('phobos.state');
    equal([state?.detail, state?.severity, state?.busy], ['ptxas is not installed', vscode.LanguageStatusSeverity.Warning, false]);
    equal(items.get('phobos.target')?.text, 'sm_90');
    await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), '\n'));
    await until('the state', () => items.get('phobos.state')?.text === 'Behind the text');
    await editor.document.save();
    await until('the state', () => items.get('phobos.state')?.text === 'Up to date');
  },
};

export const run = (): Promise<void> => runAll(tests);
