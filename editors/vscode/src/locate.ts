/**
 * Where the `phobos` command is.
 *
 * In: what a user set, the folders of Python environments and the PATH. Out: an absolute path, or what is wrong and what
 * to do. It looks at the disk and knows nothing of VS Code.
 */

import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

export interface Places {
  /** `phobos.path`, or nothing. */
  readonly setting: string;
  /** What `${workspaceFolder}` stands for. */
  readonly workspaceFolder: string | undefined;
  /** Folders of Python environments, the most wanted first. */
  readonly environments: readonly string[];
  readonly path: string;
}

export type Located =
  | { readonly command: string; readonly from: string }
  | { readonly problem: string };

const WINDOWS = process.platform === 'win32';
const NAME = WINDOWS ? 'phobos.exe' : 'phobos';
const SCRIPTS = WINDOWS ? 'Scripts' : 'bin';

export function locate(places: Places): Located {
  if (places.setting !== '') {
    const command = expanded(places.setting, places.workspaceFolder);
    return runs(command)
      ? { command, from: 'the setting phobos.path' }
      : { problem: `The setting phobos.path names ${command}, which is no program.` };
  }
  for (const environment of places.environments) {
    const command = join(environment, SCRIPTS, NAME);
    if (runs(command)) return { command, from: `the Python environment ${environment}` };
  }
  // A relative folder would be one of the workspace, whose programs are not ours to run.
  for (const folder of places.path.split(delimiter).filter(isAbsolute)) {
    const command = join(folder, NAME);
    if (runs(command)) return { command, from: 'the PATH' };
  }
  return { problem: 'There is no `phobos` command in the Python environment or on the PATH.' };
}

function expanded(setting: string, workspaceFolder: string | undefined): string {
  const path = setting.replace(/^~(?=[/\\]|$)/, homedir()).replaceAll('${workspaceFolder}', workspaceFolder ?? '');
  return isAbsolute(path) || workspaceFolder === undefined ? path : join(workspaceFolder, path);
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
