/** What is said when there is no server: one message for each time that it was looked for, with what to do. */

import * as vscode from 'vscode';
import type { Condition, Server } from './server';

const SETTINGS = 'Open Settings';
const INSTALL = 'How to Install';
const INTERPRETER = 'Choose the Python Environment';
const LOG = 'Show the Log';
const CHOOSE = 'python.setInterpreter';
const WALKTHROUGH = 'phobos.phobos#start';

export function messages(server: Server): vscode.Disposable {
  return server.onDidChange((condition) => void tell(condition));
}

async function tell(condition: Condition): Promise<void> {
  if (condition.kind === 'missing') {
    const python = vscode.extensions.getExtension('ms-python.python') === undefined ? [] : [INTERPRETER];
    await act(
      await vscode.window.showErrorMessage(
        `Phobos: ${condition.problem} Install Phobos into the project's Python environment, or set phobos.path to the command.`,
        INSTALL,
        ...python,
        SETTINGS,
      ),
    );
  } else if (condition.kind === 'failed') {
    await act(
      await vscode.window.showErrorMessage(
        `Phobos: ${condition.command} lsp does not run (${condition.problem}). The log says more; \`phobos doctor\` in a terminal says what is missing.`,
        LOG,
        SETTINGS,
      ),
    );
  }
}

async function act(choice: string | undefined): Promise<void> {
  switch (choice) {
    case SETTINGS:
      await vscode.commands.executeCommand('workbench.action.openSettings', 'phobos.path');
      break;
    case INSTALL:
      await vscode.commands.executeCommand('workbench.action.openWalkthrough', WALKTHROUGH, false);
      break;
    case INTERPRETER:
      await vscode.commands.executeCommand(CHOOSE);
      break;
    case LOG:
      await vscode.commands.executeCommand('phobos.showLog');
      break;
  }
}
