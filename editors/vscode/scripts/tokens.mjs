// The tokens that VS Code makes of texts with a TextMate grammar.
//
// usage: node tokens.mjs GRAMMAR.json < TEXTS.json
//
// In: a list of texts. Out: of each text a list of [line, start, end, scopes], in UTF-16 columns.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const oniguruma = require('vscode-oniguruma');
const { Registry, INITIAL, parseRawGrammar } = require('vscode-textmate');

const [path] = process.argv.slice(2);
const raw = parseRawGrammar(readFileSync(path, 'utf8'), path);
await oniguruma.loadWASM(readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')));
const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => (scope === raw.scopeName ? raw : null),
});
const grammar = await registry.loadGrammar(raw.scopeName);

function tokens(text) {
  let state = INITIAL;
  return text.split(/\r\n|\r|\n/).flatMap((line, row) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    return result.tokens.map(({ startIndex, endIndex, scopes }) => [row, startIndex, endIndex, scopes.slice(1)]);
  });
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(tokens)));
