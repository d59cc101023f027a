/** The extension with the server of this checkout. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { at, equal, holds, messagesOf, open, replace, runAll, until, type Tests } from './harness';

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
    const { document } = await open('tokens.ph', RIGHT);
    const legend = await until('the legend', () =>
      vscode.commands.executeCommand<vscode.SemanticTokensLegend>('vscode.provideDocumentSemanticTokensLegend', document.uri),
    );
    const contributed = vscode.extensions.getExtension('phobos.phobos')?.packageJSON.contributes;
    const own = contributed.semanticTokenModifiers.map(({ id }: { id: string }) => id);
    const standard = ['declaration', 'definition', 'readonly', 'static', 'deprecated', 'abstract', 'async', 'modification', 'documentation', 'defaultLibrary'];
    equal(legend.tokenModifiers.filter((name) => !standard.includes(name)), own);
    const scopes = Object.keys(contributed.semanticTokenScopes[0].scopes).flatMap((selector) => selector.split('.').slice(1));
    equal(scopes.filter((name) => !legend.tokenModifiers.includes(name)), []);
    await until('tokens', async () => {
      const found = await vscode.commands.executeCommand<vscode.SemanticTokens>('vscode.provideDocumentSemanticTokens', document.uri);
      return found?.data.length;
    });
  },

  'lenses, if any, name commands that are there': async () => {
    const { document } = await open('lenses.ph', RIGHT);
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 20);
    const known = await vscode.commands.getCommands(true);
    equal(lenses.flatMap(({ command }) => (command?.command ? [command.command] : [])).filter((command) => !known.includes(command)), []);
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

  'the code beside the source, or why not': async () => {
    const editor = await open('beside.ph', RIGHT);
    editor.selection = new vscode.Selection(4, 0, 4, 0);
    const said = await messagesOf(async () => vscode.commands.executeCommand('phobos.showPtx'));
    const listing = vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === 'phobos');
    if (listing === undefined) {
      equal(said.length, 1);
      holds(said[0]?.includes('pip install --upgrade phobos'), said.join());
    } else {
      equal(said, []);
      equal(listing.languageId, 'phobos-ptx');
      holds(listing.getText().includes('.visible .entry double'), listing.getText());
    }
  },
};

export const run = (): Promise<void> => runAll(tests);
