/** The commands: what each does, by its id. */

import * as vscode from 'vscode';
import { explain } from './explain';
import { kernelName, place } from './kernels';
import { lacking, type KindName, type Listings } from './listings';
import { selectConfiguration, selectTarget } from './select';
import type { Server } from './server';

type Command = (...given: unknown[]) => Promise<void>;

/** What a server may have as its own command, too. */
export const COMMANDS = [
  'phobos.showPtx',
  'phobos.showSass',
  'phobos.showMemoryMap',
  'phobos.build',
  'phobos.run',
  'phobos.selectConfiguration',
  'phobos.selectTarget',
  'phobos.explain',
  'phobos.restart',
  'phobos.showLog',
] as const;

const NO_KERNEL = 'There is no kernel here: put the cursor into one.';

export function commands(server: Server, listings: Listings, log: vscode.LogOutputChannel): vscode.Disposable {
  const show =
    (kind: KindName): Command =>
    async (uri, kernel) => {
      const at = await place(uri, kernel);
      if (at === undefined) throw new Error(NO_KERNEL);
      const document = await listings.open(kind, at.document.uri, {
        ...(at.kernel === undefined ? {} : { kernel: at.kernel }),
        ...(at.position === undefined ? {} : { position: at.position }),
      });
      if (document === undefined) return;
      await vscode.window.showTextDocument(document, {
        viewColumn: columnOf(document) ?? vscode.ViewColumn.Beside,
        preserveFocus: true,
        preview: false,
      });
    };

  /** Left to the server, told the kernel. */
  const served =
    (command: string, what: string): Command =>
    async (uri, kernel) => {
      const at = await place(uri, kernel);
      const name = at && (await kernelName(at));
      if (at === undefined || name === undefined) throw new Error(NO_KERNEL);
      const client = server.client();
      if (client === undefined) throw new Error('The language server is not running.');
      if (!server.offers(command)) throw new Error(lacking(what, server));
      // The server shows how far it is, and says what came of it.
      await client.sendRequest('workspace/executeCommand', { command, arguments: [at.document.uri.toString(), name] });
    };

  const table: Record<(typeof COMMANDS)[number], Command> = {
    'phobos.showPtx': show('ptx'),
    'phobos.showSass': show('sass'),
    'phobos.showMemoryMap': show('memory'),
    'phobos.build': served('phobos.build', 'builds'),
    'phobos.run': served('phobos.run', 'runs on the emulator'),
    'phobos.selectConfiguration': (uri, kernel, config) => selectConfiguration(server, uri, kernel, config),
    'phobos.selectTarget': selectTarget,
    'phobos.explain': (code) => explain(server, code),
    'phobos.restart': () => server.restart(),
    'phobos.showLog': async () => log.show(),
  };

  return vscode.Disposable.from(
    ...Object.entries(table).map(([id, command]) =>
      vscode.commands.registerCommand(id, async (...given: unknown[]) => {
        try {
          await command(...given);
        } catch (error) {
          const said = error instanceof Error ? error.message : String(error);
          log.warn(`${id}: ${said}`);
          void vscode.window.showErrorMessage(`Phobos: ${said}`);
        }
      }),
    ),
  );
}

/** The column in which a document is open already, or else one beside that another listing is in. */
function columnOf(document: vscode.TextDocument): vscode.ViewColumn | undefined {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => ({ tab, column: group.viewColumn })));
  const uriOf = (tab: vscode.Tab) => (tab.input instanceof vscode.TabInputText ? tab.input.uri : undefined);
  const open = tabs.find(({ tab }) => uriOf(tab)?.toString() === document.uri.toString());
  const other = tabs.find(({ tab }) => uriOf(tab)?.scheme === document.uri.scheme);
  return (open ?? other)?.column;
}

