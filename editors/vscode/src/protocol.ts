/**
 * The requests of the server that are its own, and how they are asked.
 *
 * A server may lack one, or be down: an answer says so, and nobody has to catch anything.
 */

import { CancellationTokenSource, type CancellationToken } from 'vscode';
import { LSPErrorCodes, ResponseError, ErrorCodes, type LanguageClient, type Position } from 'vscode-languageclient/node';

export type Configuration = Readonly<Record<string, number>>;

export interface KernelAt {
  readonly textDocument: { readonly uri: string };
  readonly position?: Position;
  readonly kernel?: string;
}

/** What is shown of a kernel beside its source: PTX, SASS or the map of its shared memory. */
export interface Listing {
  readonly kernel: string;
  readonly target: string;
  readonly config: Configuration;
  readonly version: number | null;
  readonly stale: boolean;
  readonly text: string;
  /** Of each line of the text, the line of the source. */
  readonly lines?: readonly (number | null)[];
  /** Of each line of the text, the live registers. */
  readonly registers?: readonly (number | null)[];
}

export interface Configurations {
  readonly kernel: string;
  readonly shown: Configuration;
  readonly configurations: readonly { readonly config: Configuration; readonly report: string | null }[];
}

export interface Status {
  readonly state: 'idle' | 'checking' | 'building' | 'failed';
  readonly target: string;
  readonly fresh: boolean;
  readonly ptxas: string | null;
  readonly message: string;
  /** In the notification alone. */
  readonly uri?: string;
}

/** Of each request, what it is asked with and what it answers. */
export interface Requests {
  'phobos/ptx': [KernelAt, Listing | null];
  'phobos/sass': [KernelAt, Listing | null];
  'phobos/memoryMap': [KernelAt, Listing | null];
  'phobos/configurations': [KernelAt, Configurations | null];
  'phobos/status': [{ readonly textDocument?: { readonly uri: string } }, Status | null];
}

export const STATUS = 'phobos/status';

export type Answer<T> =
  | { readonly kind: 'answer'; readonly value: T }
  /** This server does not know the request. */
  | { readonly kind: 'lacking' }
  /** Newer text, or another question, came first. */
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'failed'; readonly message: string };

// Without a token, the client takes `undefined` for another parameter.
const NEVER = new CancellationTokenSource().token;

export async function ask<M extends keyof Requests>(
  client: LanguageClient | undefined,
  method: M,
  params: Requests[M][0],
  token?: CancellationToken,
): Promise<Answer<Requests[M][1]>> {
  if (client === undefined) return { kind: 'failed', message: 'The language server is not running.' };
  try {
    const value = await client.sendRequest<Requests[M][1]>(method, params, token ?? NEVER);
    return { kind: 'answer', value };
  } catch (error) {
    return refused(error);
  }
}

const OVERTAKEN: readonly number[] = [
  LSPErrorCodes.RequestCancelled,
  LSPErrorCodes.ServerCancelled,
  LSPErrorCodes.ContentModified,
];

function refused(error: unknown): Exclude<Answer<never>, { kind: 'answer' }> {
  if (error instanceof ResponseError) {
    if (error.code === ErrorCodes.MethodNotFound) return { kind: 'lacking' };
    if (OVERTAKEN.includes(error.code)) return { kind: 'overtaken' };
  }
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
}

/** As the command line writes it: `TILE=64,STEP=8`. */
export function spelled(config: Configuration): string {
  return Object.entries(config)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}
