// Bundles the extension into dist/extension.js, and with `--tests DIRECTORY` its tests into that directory.
import { build } from 'esbuild';

const common = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  logLevel: 'warning',
};

const tests = process.argv.indexOf('--tests');
if (tests < 0) {
  await build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', minify: true });
} else {
  const entryPoints = ['served', 'standin', 'missing'].map((name) => `test/${name}.ts`);
  await build({ ...common, entryPoints, outdir: process.argv[tests + 1], sourcemap: 'inline' });
}
