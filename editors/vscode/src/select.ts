/** Choosing what is shown: the configuration of a kernel, and the target. */

import * as vscode from 'vscode';
import { contributes } from '../package.json';
import { kernelName, place } from './kernels';
import { lacking } from './listings';
import { ask, spelled, type Configuration } from './protocol';
import { LANGUAGE, type Server } from './server';

/** What Phobos compiles for, and the GPUs of that kind. */
const [ONE] = contributes.configuration.properties['phobos.target'].anyOf;
const TARGETS = (ONE?.enum ?? []).map((label, index) => ({ label, detail: ONE?.enumDescriptions?.[index] ?? '' }));
const COMMAND = 'phobos.selectConfiguration';

export async function selectConfiguration(server: Server, uri: unknown, kernel: unknown, given: unknown): Promise<void> {
  const at = await place(uri, kernel);
  const name = at && (await kernelName(at));
  if (at === undefined || name === undefined) throw new Error('There is no kernel here: put the cursor into one.');
  const client = server.client();
  const source = at.document.uri.toString();
  const config = isConfiguration(given) ? given : await chosen(server, source, name);
  if (config === undefined) return;
  if (client !== undefined && server.offers(COMMAND)) {
    await client.sendRequest('workspace/executeCommand', { command: COMMAND, arguments: [source, name, config] });
  } else {
    await set('config', config, at.document.uri);
  }
}

async function chosen(server: Server, uri: string, kernel: string): Promise<Configuration | undefined> {
  const answer = await ask(server.client(), 'phobos/configurations', { textDocument: { uri }, kernel });
  if (answer.kind === 'overtaken') return undefined;
  if (answer.kind === 'failed') throw new Error(answer.message);
  if (answer.kind === 'lacking') throw new Error(lacking('a list of configurations', server));
  const found = answer.value;
  if (found === null || found.configurations.length === 0) throw new Error(`\`${kernel}\` has one configuration only.`);
  const items = found.configurations.map(({ config, report }) => ({
    label: spelled(config),
    description: spelled(config) === spelled(found.shown) ? 'shown' : '',
    detail: report ?? '',
    config,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: `Phobos: the configuration of ${kernel} that is shown`,
    matchOnDetail: true,
  });
  return picked?.config;
}

export async function selectTarget(): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const now = vscode.workspace.getConfiguration(LANGUAGE, uri).get<string | string[]>('target', '');
  const first = Array.isArray(now) ? now[0] : now;
  const items = TARGETS.map((item) => ({ ...item, description: item.label === first ? 'shown' : '' }));
  const picked = await vscode.window.showQuickPick(items, { title: 'Phobos: the GPU to check and build for', matchOnDetail: true });
  if (picked === undefined) return;
  const others = Array.isArray(now) ? now.filter((name) => name !== picked.label) : [];
  await set('target', others.length === 0 ? picked.label : [picked.label, ...others], uri);
}

/** Where a setting belongs that a command changes: in the workspace, or in the user's settings if there is none. */
async function set(name: string, value: unknown, uri: vscode.Uri | undefined): Promise<void> {
  const folder = uri && vscode.workspace.getWorkspaceFolder(uri);
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  const where =
    folder === undefined
      ? vscode.ConfigurationTarget.Global
      : several
        ? vscode.ConfigurationTarget.WorkspaceFolder
        : vscode.ConfigurationTarget.Workspace;
  await vscode.workspace.getConfiguration(LANGUAGE, uri).update(name, value, where);
}

function isConfiguration(given: unknown): given is Configuration {
  return typeof given === 'object' && given !== null && Object.values(given).every((value) => typeof value === 'number');
}
