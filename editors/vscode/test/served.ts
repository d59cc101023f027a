/** The extension with the server of this checkout. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { at, equal, holds, messagesOf, open, replace, runAll, seen, until, type Tests } from './harness';

const RIGHT = `// Twice x.
@launch(64)
kernel double(X: tensor<f32>[64]) {
  let value = X[ctx.lane]
  X[ctx.lane] = exp(value) + value
}
`;
const WRONG = RIGHT.replace('+ value', '+ y');

function problems(document: vscode.TextDocument): vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(document.uri).filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning);
}

function codes(document: vscode.TextDocument): unknown[] {
  return problems(document).map(({ code }) => (typeof code === 'object' ? code.value : code));
}

const TUNED = `@autotune(TILE in [32, 64])
kernel scale(A: tensor<f32>[M, 64]) {
  let row = ctx.block.x * TILE
  A[row :+ TILE, :] = A[row :+ TILE, :] * 2.0
}
`;

/** The commands of the lenses, by their titles. */
async function lensesOf(document: vscode.TextDocument): Promise<Map<string, vscode.Command>> {
  const found = await until('lenses', async () => {
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 20);
    return lenses.length > 0 ? lenses : undefined;
  });
  return new Map(found.flatMap(({ command }) => (command === undefined ? [] : [[command.title, command]])));
}

async function execute(lenses: Map<string, vscode.Command>, title: string): Promise<void> {
  const command = lenses.get(title);
  holds(command !== undefined, `there is no lens ${title}`);
  await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
}

function listing(): vscode.TextEditor | undefined {
  return vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === 'phobos');
}

/** Shows the code of a kernel that has an `exp`, whose line is the cursor's: its instruction is marked. */
async function beside(command: string, name: string, instruction: string): Promise<void> {
  const editor = await open(name, RIGHT);
  editor.selection = new vscode.Selection(4, 0, 4, 0);
  equal(await messagesOf(async () => vscode.commands.executeCommand(command)), []);
  const { document } = await until('the view', listing);
  holds(document.getText().includes(instruction), document.getText());
  await until('the mark', async () => (await seen('phobos:'))?.lines.some(({ text, marked }) => marked && text.includes(instruction)));
  holds(!(await seen('phobos:'))?.lines.every(({ marked }) => marked), 'all is marked');
}

function wordsOf(label: string | vscode.InlayHintLabelPart[]): string {
  return typeof label === 'string' ? label : label.map(({ value }) => value).join('');
}

const tests: Tests = {
  'a file starts the extension': async () => {
    const { document } = await open('start.ph', RIGHT);
    equal(document.languageId, 'phobos');
    const extension = await until('the extension', () => vscode.extensions.getExtension('phobos.phobos'));
    await until('its start', () => extension.isActive);
  },

  'every command that is contributed is there': async () => {
    const contributed: { command: string }[] = vscode.extensions.getExtension('phobos.phobos')?.packageJSON.contributes.commands;
    const known = await vscode.commands.getCommands(true);
    equal(contributed.map(({ command }) => command).filter((command) => !known.includes(command)), []);
  },

  'diagnostics come and go': async () => {
    const editor = await open('diagnostics.ph', WRONG);
    await until('a diagnostic', () => problems(editor.document).length > 0);
    const [found] = problems(editor.document);
    equal([found?.source, found?.message, found?.range], ['phobos', '`y` is not declared here', new vscode.Range(4, 29, 4, 30)]);
    equal(codes(editor.document), ['unknown-name']);
    await replace(editor, RIGHT);
    await until('its end', () => problems(editor.document).length === 0);
  },

  'diagnostics of a closed file go': async () => {
    const { document } = await open('closed.ph', WRONG);
    await until('a diagnostic', () => problems(document).length > 0);
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    const edit = new vscode.WorkspaceEdit();
    edit.deleteFile(document.uri);
    await vscode.workspace.applyEdit(edit);
    await until('its end', () => problems(document).length === 0);
  },

  'a hover tells of a built-in': async () => {
    const { document } = await open('hover.ph', RIGHT);
    const text = await until('a hover', async () => {
      const found = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', document.uri, at(document, 'exp('));
      return found.flatMap(({ contents }) => contents.map((part) => (typeof part === 'string' ? part : part.value))).join('\n');
    });
    holds(text.includes('exp('), text);
  },

  'completion offers a built-in': async () => {
    const { document } = await open('completion.ph', RIGHT.replace('exp(value)', 'rsq'));
    const where = at(document, 'rsq').translate(0, 3);
    await until('rsqrt', async () => {
      const list = await vscode.commands.executeCommand<vscode.CompletionList>('vscode.executeCompletionItemProvider', document.uri, where);
      return list.items.some(({ label }) => (typeof label === 'string' ? label : label.label) === 'rsqrt');
    });
  },

  'a rename changes every use': async () => {
    const { document } = await open('rename.ph', RIGHT);
    const edit = await until('the edit', () =>
      vscode.commands.executeCommand<vscode.WorkspaceEdit>('vscode.executeDocumentRenameProvider', document.uri, at(document, 'value', 2), 'x'),
    );
    holds(await vscode.workspace.applyEdit(edit), 'the edit was refused');
    equal(document.getText(), RIGHT.replaceAll('value', 'x'));
  },

  'a format is that of the command': async () => {
    const { document } = await open('format.ph', 'kernel  k( A:tensor<f32>[64] ){\nA[ ctx.lane ]=1.0 // é\n}\n');
    await vscode.commands.executeCommand('editor.action.formatDocument');
    await until('the format', () => document.isDirty);
    const now = document.getText();
    execFileSync('phobos', ['fmt', document.uri.fsPath]);
    equal(now, readFileSync(document.uri.fsPath, 'utf8'));
  },

  'the definition of a name': async () => {
    const { document } = await open('definition.ph', RIGHT);
    const found = await until('a definition', async () => {
      const all = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[]>(
        'vscode.executeDefinitionProvider',
        document.uri,
        at(document, 'value', 3),
      );
      return all[0];
    });
    const range = 'targetUri' in found ? (found.targetSelectionRange ?? found.targetRange) : found.range;
    equal(range.start, at(document, 'value'));
  },

  'what varies is told by colour': async () => {
    const { document } = await open('tokens.ph', RIGHT.replace('  let', '  let same = ctx.block.x\n  let'));
    const legend = await until('the legend', () =>
      vscode.commands.executeCommand<vscode.SemanticTokensLegend>('vscode.provideDocumentSemanticTokensLegend', document.uri),
    );
    const contributed = vscode.extensions.getExtension('phobos.phobos')?.packageJSON.contributes;
    const own = contributed.semanticTokenModifiers.map(({ id }: { id: string }) => id);
    const standard = ['declaration', 'definition', 'readonly', 'static', 'deprecated', 'abstract', 'async', 'modification', 'documentation', 'defaultLibrary'];
    equal(legend.tokenModifiers.filter((name) => !standard.includes(name)), own);
    const scopes = Object.keys(contributed.semanticTokenScopes[0].scopes).flatMap((selector) => selector.split('.').slice(1));
    equal(scopes.filter((name) => !legend.tokenModifiers.includes(name)), []);
    await until('slanted words', async () => {
      const lines = (await seen('tokens.ph'))?.lines.filter(({ text }) => text.startsWith('  '));
      const slanted = lines?.map((line) => line.slanted);
      return JSON.stringify(slanted) === JSON.stringify([[], ['value'], ['value', 'value']]);
    });
  },

  'lenses name commands that are there': async () => {
    const { document } = await open('lenses.ph', TUNED);
    const lenses = await lensesOf(document);
    equal([...lenses.keys()], ['Build', 'Run on the emulator', 'TILE = 32', 'PTX', 'SASS']);
    const known = await vscode.commands.getCommands(true);
    equal([...lenses.values()].map(({ command }) => command).filter((command) => !known.includes(command)), []);
  },

  'the lens of a build tells what the kernel needs': async () => {
    const { document } = await open('build.ph', RIGHT);
    const said = await messagesOf(async () => execute(await lensesOf(document), 'Build'));
    equal(said.length, 1);
    holds(said[0]?.startsWith('`double`: regs '), said.join('\n'));
  },

  'the lens of a run tells what the emulator found': async () => {
    const { document } = await open('run.ph', TUNED);
    const said = await messagesOf(async () => execute(await lensesOf(document), 'Run on the emulator'));
    equal(said.length, 1);
    holds(said[0]?.startsWith('`scale`') && said[0]?.endsWith('the emulator found nothing wrong'), said.join('\n'));
  },

  'another configuration is chosen': async () => {
    const { document } = await open('configuration.ph', TUNED);
    const lenses = await lensesOf(document);
    const { showQuickPick } = vscode.window;
    const pick = (given: vscode.QuickPickItem[]) => Promise.resolve(given.find(({ label }) => label === 'TILE=64'));
    Object.assign(vscode.window, { showQuickPick: pick });
    try {
      equal(await messagesOf(async () => execute(lenses, 'TILE = 32')), []);
    } finally {
      Object.assign(vscode.window, { showQuickPick });
    }
    await until('the lens', async () => (await lensesOf(document)).has('TILE = 64'));
  },

  'hints tell what a kernel costs': async () => {
    const { document } = await open('hints.ph', RIGHT);
    const whole = new vscode.Range(0, 0, document.lineCount, 0);
    await until('a hint', async () => {
      const hints = await vscode.commands.executeCommand<vscode.InlayHint[]>('vscode.executeInlayHintProvider', document.uri, whole);
      return hints.some(({ label, position }) => position.line === 2 && wordsOf(label).includes('occupancy'));
    });
  },

  'a mistake can be mended and explained': async () => {
    const { document } = await open('actions.ph', RIGHT.replace('+ value', '+ valeu'));
    await until('a diagnostic', () => problems(document).length > 0);
    const where = at(document, 'valeu');
    const found = await until('actions', () =>
      vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', document.uri, new vscode.Range(where, where)),
    );
    const mend = found.find(({ edit }) => edit?.has(document.uri));
    holds(mend?.edit !== undefined && (await vscode.workspace.applyEdit(mend.edit)), 'nothing was mended');
    equal(document.getText(), RIGHT);
    equal(found.flatMap(({ command }) => (command?.command === 'phobos.explain' ? [command.arguments] : [])), [['unknown-name']]);
  },

  'the outline has the kernel': async () => {
    const { document } = await open('outline.ph', RIGHT);
    const found = await until('symbols', () =>
      vscode.commands.executeCommand<vscode.DocumentSymbol[]>('vscode.executeDocumentSymbolProvider', document.uri),
    );
    equal(found.map(({ name, detail }) => [name, detail]), [['double', 'kernel']]);
  },

  'a changed setting counts at once': async () => {
    const { document } = await open('settings.ph', RIGHT.replace('exp', 'tanh'));
    const settings = vscode.workspace.getConfiguration('phobos');
    await settings.update('target', 'sm_61', vscode.ConfigurationTarget.Workspace);
    try {
      await until('what the older target lacks', () => codes(document).includes('needs-target'));
      await settings.update('target', undefined, vscode.ConfigurationTarget.Workspace);
      await until('the end of it', () => !codes(document).includes('needs-target'));
    } finally {
      await settings.update('target', undefined, vscode.ConfigurationTarget.Workspace);
    }
  },

  'a restart leaves the diagnostics right': async () => {
    const { document } = await open('restart.ph', WRONG);
    await until('a diagnostic', () => problems(document).length === 1);
    const said = await messagesOf(async () => vscode.commands.executeCommand('phobos.restart'));
    equal(said, []);
    await until('a diagnostic', () => problems(document).length === 1);
  },

  'a code is explained': async () => {
    const { document } = await open('explain.ph', WRONG);
    await until('a diagnostic', () => problems(document).length > 0);
    await vscode.commands.executeCommand('phobos.explain', 'unknown-name');
    const page = await until('the page', () => vscode.workspace.textDocuments.find(({ uri }) => uri.path === '/unknown-name'));
    holds(page.getText().startsWith('error[unknown-name]: a name that nothing declares'), page.getText());
    const said = await messagesOf(async () => vscode.commands.executeCommand('phobos.explain', 'nonsense'));
    equal(said.length, 1);
    holds(said[0]?.includes('nonsense'), said.join());
  },

  'tasks check and build the folder': async () => {
    await open('tasks.ph', RIGHT);
    const found = await vscode.tasks.fetchTasks({ type: 'phobos' });
    equal(found.map(({ definition }) => definition['command']).sort(), ['build', 'check']);
    for (const { execution, problemMatchers } of found) {
      equal(problemMatchers, ['$phobos']);
      holds(execution instanceof vscode.ProcessExecution, 'a task is a process');
      equal(execution.args.slice(1, 3), ['--format', 'concise']);
      holds(execution.process.endsWith('phobos'), execution.process);
    }
  },

  'PTX beside the source': async () => {
    await beside('phobos.showPtx', 'ptx.ph', 'ex2.approx');
  },

  'SASS beside the source': async () => {
    await beside('phobos.showSass', 'sass.ph', 'MUFU.EX2');
  },

  'the map of shared memory': async () => {
    await open('map.ph', TUNED);
    equal(await messagesOf(async () => vscode.commands.executeCommand('phobos.showMemoryMap')), []);
    const { document } = await until('the map', listing);
    holds(document.getText().includes('bytes of shared memory'), document.getText());
  },
};

export const run = (): Promise<void> => runAll(tests);
