/** The extension with a server that has none of the requests and commands of its own. */

import * as vscode from 'vscode';
import { equal, messagesOf, open, runAll, until, type Tests } from './harness';

const LACKS: Readonly<Record<string, string>> = {
  'phobos.showPtx': 'the PTX of a kernel',
  'phobos.showSass': 'the SASS of a kernel',
  'phobos.showMemoryMap': 'the shared memory of a kernel',
  'phobos.build': 'builds',
  'phobos.run': 'runs on the emulator',
  'phobos.selectConfiguration': 'a list of configurations',
};

const tests: Tests = {
  'what an old server lacks is said, with what to do': async () => {
    const { document } = await open('old.ph', 'kernel one() {\n}\n');
    await until('the server', async () => {
      const symbols = await vscode.commands.executeCommand<unknown[]>('vscode.executeDocumentSymbolProvider', document.uri);
      return symbols?.length === 1;
    });
    for (const [command, what] of Object.entries(LACKS)) {
      const said = await messagesOf(async () => vscode.commands.executeCommand(command));
      equal(said, [`Phobos: The installed Phobos 9.9 does not offer ${what}: install a newer one.`]);
    }
  },
};

export const run = (): Promise<void> => runAll(tests);
