// Bundles the extension into dist/, with the licences of what is in it; or with `--tests DIRECTORY` its tests into that
// directory.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const common = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  logLevel: 'warning',
};

/** The licence of each package that a file of the bundle is from. */
function licences(inputs) {
  const folders = Object.keys(inputs).flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${name} has no licence to pass on`);
    return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
  });
}

const tests = process.argv.indexOf('--tests');
if (tests < 0) {
  const entry = { entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', minify: true, metafile: true };
  const { metafile } = await build({ ...common, ...entry });
  const rule = `\n${'-'.repeat(80)}\n\n`;
  writeFileSync('dist/ThirdPartyNotices.txt', `The extension contains these packages.\n${rule}${licences(metafile.inputs).join(rule)}`);
} else {
  const entryPoints = ['served', 'standin', 'missing', 'environments'].map((name) => `test/${name}.ts`);
  await build({ ...common, entryPoints, outdir: process.argv[tests + 1], sourcemap: 'inline' });
}
