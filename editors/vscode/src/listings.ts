/**
 * Listings: what the server says of a kernel, as documents that cannot be edited, kept up to date.
 *
 * In: a kind, a source and a kernel. Out: documents of the scheme `phobos`, and an event when one is another. The address
 * of a document says all that is needed to ask for it, so that one survives a reload of the window.
 */

import * as vscode from 'vscode';
import { moved, type Edit, type Lines } from './lines';
import { ask, type Answer, type Listing } from './protocol';
import { type Server } from './server';

export const SCHEME = 'phobos';

interface Kind {
  readonly method: 'phobos/ptx' | 'phobos/sass' | 'phobos/memoryMap';
  readonly name: string;
  readonly language: string;
}

export const KINDS = {
  ptx: { method: 'phobos/ptx', name: 'PTX', language: 'phobos-ptx' },
  sass: { method: 'phobos/sass', name: 'SASS', language: 'phobos-sass' },
  memory: { method: 'phobos/memoryMap', name: 'shared memory', language: 'plaintext' },
} as const satisfies Record<string, Kind>;
export type KindName = keyof typeof KINDS;

/** A listing as it is shown: `lines` are those of the source as it is now. */
export interface Shown {
  readonly listing: Listing;
  readonly lines: Lines;
  /** Whether the source has been changed since, or what keeps the listing from being built. */
  readonly stale: boolean;
  readonly problem: string;
}

/** What a document is about. */
export interface Subject {
  readonly kind: KindName;
  readonly source: vscode.Uri;
  readonly kernel: string;
}

export interface Listings {
  /** Asks for the listing at a place and gives its document; throws what a user should read. */
  open(kind: KindName, source: vscode.Uri, place: { kernel?: string; position?: vscode.Position }): Promise<vscode.TextDocument | undefined>;
  shown(document: vscode.TextDocument): Shown | undefined;
  /** The document whose listing is another now. */
  readonly onDidChange: vscode.Event<vscode.Uri>;
  dispose(): void;
}

/** What is known of a document; replaced as a whole. */
interface Entry {
  readonly subject: Subject;
  readonly shown: Shown | undefined;
  /** Of the source, since the listing was asked for. */
  readonly edits: readonly Edit[];
}

// How long typing must have paused before a server that does not tell of its builds is asked again.
const PAUSE = 500;

export function listings(server: Server, log: vscode.LogOutputChannel): Listings {
  const entries = new Map<string, Entry>();
  const asking = new Map<string, vscode.CancellationTokenSource>();
  const waiting = new Map<string, NodeJS.Timeout>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const text = new vscode.EventEmitter<vscode.Uri>();

  function put(uri: vscode.Uri, entry: Entry): void {
    const before = entries.get(uri.toString());
    entries.set(uri.toString(), entry);
    if (before?.shown?.listing.text !== entry.shown?.listing.text) text.fire(uri);
    changed.fire(uri);
  }

  /** Asks again for a document's listing; a newer question takes an older one's place. */
  async function refresh(uri: vscode.Uri, subject: Subject): Promise<void> {
    const key = uri.toString();
    asking.get(key)?.cancel();
    const source = new vscode.CancellationTokenSource();
    asking.set(key, source);
    const version = versionOf(subject.source);
    const answer = await ask(
      server.client(),
      KINDS[subject.kind].method,
      { textDocument: { uri: subject.source.toString() }, kernel: subject.kernel },
      source.token,
    );
    if (asking.get(key) !== source) return;
    asking.delete(key);
    const entry = entries.get(key);
    if (entry === undefined || answer.kind === 'overtaken') return;
    put(uri, answered(entry, answer, version));
  }

  function refreshAll(of: (subject: Subject) => boolean): void {
    for (const [key, { subject }] of entries) {
      if (of(subject)) void refresh(vscode.Uri.parse(key), subject);
    }
  }

  function soon(source: vscode.Uri): void {
    const key = source.toString();
    clearTimeout(waiting.get(key));
    waiting.set(
      key,
      setTimeout(() => {
        waiting.delete(key);
        refreshAll((subject) => subject.source.toString() === key);
      }, PAUSE),
    );
  }

  function edited(event: vscode.TextDocumentChangeEvent): void {
    if (event.contentChanges.length === 0) return;
    const source = event.document.uri.toString();
    for (const [key, entry] of entries) {
      if (entry.subject.source.toString() !== source) continue;
      const edit = editOf(event);
      const shown = entry.shown && {
        ...entry.shown,
        lines: moved(entry.shown.lines, edit.changes),
        stale: true,
      };
      put(vscode.Uri.parse(key), { ...entry, shown, edits: [...entry.edits, edit] });
      soon(event.document.uri);
    }
  }

  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: text.event,
    provideTextDocumentContent: async (uri) => {
      const known = entries.get(uri.toString());
      if (known?.shown !== undefined) return known.shown.listing.text;
      const subject = subjectOf(uri);
      if (subject === undefined) return '';
      entries.set(uri.toString(), { subject, shown: undefined, edits: [] });
      await refresh(uri, subject);
      const entry = entries.get(uri.toString());
      return entry?.shown?.listing.text ?? '';
    },
  };

  const disposables = [
    changed,
    text,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider),
    vscode.workspace.onDidChangeTextDocument(edited),
    vscode.workspace.onDidSaveTextDocument((document) =>
      refreshAll((subject) => subject.source.toString() === document.uri.toString()),
    ),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('phobos')) for (const { subject } of entries.values()) soon(subject.source);
    }),
    // Changing a document's language closes it, too, in a way.
    vscode.workspace.onDidCloseTextDocument((document) => document.isClosed && entries.delete(document.uri.toString())),
    server.onStatus(({ state, uri }) => {
      if (uri === undefined || state === 'checking' || state === 'building') return;
      const source = vscode.Uri.parse(uri).toString();
      refreshAll((subject) => subject.source.toString() === source);
    }),
    server.onDidChange((condition) => {
      if (condition.kind === 'running') refreshAll(() => true);
    }),
  ];

  return {
    async open(kind, source, place) {
      const version = versionOf(source);
      const answer = await ask(server.client(), KINDS[kind].method, {
        textDocument: { uri: source.toString() },
        ...place,
      });
      if (answer.kind === 'overtaken') return undefined;
      const listing = taken(answer, kind, server);
      const subject = { kind, source, kernel: listing.kernel };
      const uri = uriOf(subject);
      const edits = entries.get(uri.toString())?.edits ?? [];
      put(uri, answered({ subject, shown: undefined, edits }, answer, version));
      const document = await vscode.workspace.openTextDocument(uri);
      log.debug(`${KINDS[kind].name} of ${listing.kernel}: ${document.lineCount} lines`);
      return vscode.languages.setTextDocumentLanguage(document, KINDS[kind].language);
    },
    shown: (document) => entries.get(document.uri.toString())?.shown,
    onDidChange: changed.event,
    dispose: () => {
      for (const timer of waiting.values()) clearTimeout(timer);
      vscode.Disposable.from(...disposables).dispose();
    },
  };
}

function taken(answer: Answer<Listing | null>, kind: KindName, server: Server): Listing {
  switch (answer.kind) {
    case 'answer':
      if (answer.value === null) throw new Error('There is no kernel here.');
      return answer.value;
    case 'failed':
      throw new Error(answer.message);
    default:
      throw new Error(lacking(`the ${KINDS[kind].name} of a kernel`, server));
  }
}

/** What is said where a server is too old for something. */
export function lacking(what: string, server: Server): string {
  const condition = server.condition();
  const version = condition.kind === 'running' && condition.version !== '' ? ` ${condition.version}` : '';
  return `The installed Phobos${version} does not offer ${what}: install a newer one.`;
}

/** An answer's lines are those of the source as it was when it was asked for, whatever text it was built from. */
function answered(entry: Entry, answer: Answer<Listing | null>, asked: number | undefined): Entry {
  if (answer.kind === 'answer' && answer.value !== null) {
    const listing = answer.value;
    const edits = entry.edits.filter(({ version }) => asked !== undefined && version > asked);
    return {
      ...entry,
      edits,
      shown: {
        listing,
        lines: moved(
          listing.lines ?? [],
          edits.flatMap(({ changes }) => changes),
        ),
        stale: listing.stale || edits.length > 0,
        problem: '',
      },
    };
  }
  const problem = answer.kind === 'failed' ? answer.message : `There is no kernel \`${entry.subject.kernel}\`.`;
  return { ...entry, shown: entry.shown && { ...entry.shown, stale: true, problem } };
}

function editOf(event: vscode.TextDocumentChangeEvent): Edit {
  // The ranges of all are about the text before; from the last to the first, each leaves the others in place.
  const changes = [...event.contentChanges]
    .sort((one, other) => other.rangeOffset - one.rangeOffset)
    .map(({ range, text }) => ({
      first: range.start.line,
      last: range.end.line,
      now: text.split(/\r\n|\r|\n/).length - 1,
    }));
  return { version: event.document.version, changes };
}

function versionOf(source: vscode.Uri): number | undefined {
  return vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === source.toString())?.version;
}

function uriOf({ kind, source, kernel }: Subject): vscode.Uri {
  const query = new URLSearchParams({ kind, kernel, source: source.toString() });
  return vscode.Uri.from({ scheme: SCHEME, path: `/${kernel} (${KINDS[kind].name})`, query: query.toString() });
}

export function subjectOf(uri: vscode.Uri): Subject | undefined {
  const query = new URLSearchParams(uri.query);
  const [kind, kernel, source] = ['kind', 'kernel', 'source'].map((name) => query.get(name));
  if (kind == null || kernel == null || source == null || !(kind in KINDS)) return undefined;
  return { kind: kind as KindName, kernel, source: vscode.Uri.parse(source) };
}
