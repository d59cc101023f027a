// Draws the extension's icon: node scripts/icon.mjs
// A grid of threads with the tile of one block.

import { fileURLToPath } from 'node:url';
import { startBrowser } from './code-server.mjs';

const SIZE = 256;
const CELLS = 5;
const STEP = 40;
const EDGE = (SIZE - CELLS * STEP) / 2;

function cell(row, column) {
  const tile = row >= 1 && row <= 3 && column >= 1 && column <= 3;
  const fill = tile ? (row === 2 && column === 2 ? '#ffd166' : '#ef6f4c') : '#4a5578';
  const [x, y] = [EDGE + column * STEP + 3, EDGE + row * STEP + 3];
  return `<rect x="${x}" y="${y}" width="${STEP - 6}" height="${STEP - 6}" rx="7" fill="${fill}"/>`;
}

const cells = Array.from({ length: CELLS * CELLS }, (_, index) => cell(Math.floor(index / CELLS), index % CELLS));
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${SIZE}" height="${SIZE}"><rect width="${SIZE}" height="${SIZE}" rx="48" fill="#1f2640"/>${cells.join('')}</svg>`;

const { browser, page } = await startBrowser({ viewport: { width: SIZE, height: SIZE } });
await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${svg}`);
await page.screenshot({ path: fileURLToPath(new URL('../icon.png', import.meta.url)), omitBackground: true });
await browser.close();
