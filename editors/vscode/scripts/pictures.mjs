// Takes the pictures of docs/editors.md, in a VS Code without a screen.
//
// usage: node pictures.mjs INSTALLATION OUT
//
// INSTALLATION is what fetch-engine.sh made; `phobos` is on the PATH; `npm run bundle` was run.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { address, startBrowser, startServer } from './code-server.mjs';
import { look } from './look.mjs';

const [installation, out] = process.argv.slice(2);
const extension = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const SIZE = { width: 1200, height: 800 };
const LIMIT = 40_000;
const SETTINGS = {
  'workbench.colorTheme': 'Default Light Modern',
  'workbench.activityBar.location': 'hidden',
  'workbench.layoutControl.enabled': false,
  'workbench.editor.editorActionsLocation': 'hidden',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'window.menuBarVisibility': 'hidden',
  'window.commandCenter': false,
  'breadcrumbs.enabled': false,
  'editor.minimap.enabled': false,
  'editor.fontFamily': 'DejaVu Sans Mono',
  'editor.fontSize': 13,
  'editor.inlayHints.fontSize': 12,
  'editor.hover.delay': 100,
  'editor.hover.above': false,
  'editor.guides.indentation': false,
  'editor.occurrencesHighlight': 'off',
  'phobos.target': 'sm_80',
};

const KERNELS = `// Each row of X by its length.
kernel unit_rows(X: tensor<f32>[N, 256]) {
  let row = X[ctx.block.x :+ 1, :]
  let length = sqrt(rowsum(row * row))
  X[ctx.block.x :+ 1, :] = row / length
}

// C = A @ B
@launch(256)
kernel product(A: tensor<f32>[M, 1024], B: tensor<f32>[1024, N], C: tensor<f32>[M, N]) {
  let row = ctx.block.x * 64
  let column = ctx.block.y * 64
  var total: tile<f32>[64, 64] = 0.0
  for k in range(0, 1024, 16) {
    var a = A[row :+ 64, k :+ 16]
    var b = B[k :+ 16, column :+ 64]
    total += dot(a, b)
  }
  C[row :+ 64, column :+ 64] = total
}
`;
const WRONG = KERNELS.replace('row / length', 'row / lenght');

const work = mkdtempSync(join(tmpdir(), 'phobos-pictures-'));
const workspace = join(work, 'kernels');
mkdirSync(workspace);

async function until(what, condition) {
  const end = Date.now() + LIMIT;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function command(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: title }).first().click();
}

/** A window with a file, once the server has said all that it has to say of it. */
async function opened(page, name, text, ready) {
  const file = join(workspace, name);
  writeFileSync(file, text);
  await page.goto(address(server.url, workspace, extension, { file }));
  await page.locator('.view-line').first().waitFor();
  if (await page.locator('.part.sidebar').isVisible()) await page.keyboard.press('Control+b');
  await until('hints and colours', () => page.evaluate(ready));
}

async function shoot(page, name) {
  // The cursor blinks, and neither of its states is wrong.
  await page.addStyleTag({ content: '.cursor { visibility: hidden !important } .notifications-toasts { display: none !important }' });
  await page.screenshot({ path: join(out, name) });
}

const server = await startServer({ installation, home: join(work, 'home'), settings: SETTINGS });
try {
  const { browser, page } = await startBrowser({ viewport: SIZE, deviceScaleFactor: 1.25 });
  try {
    await opened(page, 'rows.ph', WRONG, () => document.querySelector('.squiggly-error') && /occupancy/.test(document.querySelector('.view-lines').textContent));
    await page.keyboard.press('Control+Shift+m');
    await page.locator('.markers-panel .monaco-list-row').first().waitFor();
    await page.locator('.view-line span', { hasText: /^total$/ }).last().hover();
    await page.locator('.monaco-hover:not(.hidden)').filter({ hasText: 'total' }).first().waitFor();
    await shoot(page, 'vscode-editing.png');

    await opened(page, 'product.ph', KERNELS, () => /occupancy/.test(document.querySelector('.view-lines').textContent));
    await page.locator('.view-line', { hasText: 'total += dot' }).click();
    await command(page, 'Phobos: Show SASS Beside the Source');
    await until('marks', async () => (await look(page)).filter(({ lines }) => lines.some(({ marked }) => marked)).length === 2);
    await page.mouse.move(400, 600);
    await shoot(page, 'vscode-beside.png');
  } catch (error) {
    await page.screenshot({ path: join(out, 'failed.png') });
    throw error;
  } finally {
    await browser.close();
  }
} finally {
  server.stop();
  rmSync(work, { recursive: true, force: true });
}
