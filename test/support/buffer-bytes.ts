import { isAnyArrayBuffer } from 'node:util/types';
import { NODE } from '../bench/flame/code-owner.js';
import { OwnedBytes, ownerBesideTest } from './owned-bytes.js';

/** From one buffer into another. */
const COPIED = 'bytes copied';
/** From text into a buffer, or from a buffer into text. */
const CONVERTED = 'bytes converted';
/** Of buffers that are new, whether or not they are cut from the pool that Node keeps. */
const IN_NEW_BUFFERS = 'bytes in new buffers';

type Method = (this: unknown, ...given: unknown[]) => unknown;

interface Call {
  /** What the method was called on. */
  readonly on: unknown;
  readonly given: readonly unknown[];
  readonly returned: unknown;
}

/** Methods of one object that do the same to bytes. */
interface WatchedMethods {
  readonly of: object;
  readonly names: readonly string[];
  readonly does: (call: Call) => readonly string[];
  /** To how many bytes. */
  readonly bytes: (call: Call) => number;
}

const ENCODINGS = ['ascii', 'base64', 'base64url', 'hex', 'latin1', 'ucs2', 'utf8'];

const BUFFER = Buffer.prototype as object;
/** What buffers have in common with all typed arrays. */
const TYPED_ARRAY = Object.getPrototypeOf(Object.getPrototypeOf(BUFFER)) as object;

const WATCHED: readonly WatchedMethods[] = [
  {
    of: Buffer,
    names: ['alloc', 'allocUnsafe', 'allocUnsafeSlow'],
    does: () => [IN_NEW_BUFFERS],
    bytes: returnedLength,
  },
  { of: Buffer, names: ['from'], does: doneByFrom, bytes: returnedLength },
  { of: Buffer, names: ['concat', 'copyBytesFrom'], does: () => [COPIED, IN_NEW_BUFFERS], bytes: returnedLength },
  { of: TYPED_ARRAY, names: ['slice'], does: () => [COPIED, IN_NEW_BUFFERS], bytes: returnedLength },
  { of: TYPED_ARRAY, names: ['set'], does: () => [COPIED], bytes: ({ given }) => lengthOf(given[0]) },
  { of: BUFFER, names: ['copy'], does: () => [COPIED], bytes: ({ returned }) => returned as number },
  {
    of: BUFFER,
    names: ['write', ...ENCODINGS.map((encoding) => `${encoding}Write`)],
    does: () => [CONVERTED],
    bytes: ({ returned }) => returned as number,
  },
  {
    of: BUFFER,
    names: ['toString'],
    does: () => [CONVERTED],
    bytes: ({ on, given: [, start, end] }) => lengthBetween(on, start, end),
  },
  {
    of: BUFFER,
    names: ENCODINGS.map((encoding) => `${encoding}Slice`),
    does: () => [CONVERTED],
    bytes: ({ on, given: [start, end] }) => lengthBetween(on, start, end),
  },
  { of: TextDecoder.prototype, names: ['decode'], does: () => [CONVERTED], bytes: ({ given }) => lengthOf(given[0]) },
  {
    of: TextEncoder.prototype,
    names: ['encode'],
    does: () => [CONVERTED, IN_NEW_BUFFERS],
    bytes: returnedLength,
  },
];

/**
 * What JavaScript code of this process does to the bytes of buffers meanwhile, and whose code it is. What one method does by
 * way of another is counted once. Not seen are typed arrays that are made by their constructors, and what Node does in
 * native code: sockets, hashes, ciphers. Each call takes about 5 µs longer. One at a time.
 */
export async function bufferBytesDuring(act: () => Promise<unknown>): Promise<OwnedBytes> {
  const bytes = new OwnedBytes();
  // Watched functions do not wait for anything, so a call that begins inside another one was made by it.
  let inCall = false;
  const restores = WATCHED.flatMap(({ of, names, ...methods }) =>
    names.map((name) => {
      const owner = of as Record<string, Method>;
      const method = owner[name]!;
      const watched: Method = function (this: unknown, ...given) {
        if (inCall) return method.apply(this, given);
        inCall = true;
        try {
          const call: Call = { on: this, given, returned: method.apply(this, given) };
          const caller = ownerOfCaller(watched);
          for (const what of methods.does(call)) bytes.add(caller, what, methods.bytes(call));
          return call.returned;
        } finally {
          inCall = false;
        }
      };
      owner[name] = watched;
      return () => {
        owner[name] = method;
      };
    }),
  );
  try {
    await act();
  } finally {
    for (const restore of restores) restore();
  }
  return bytes;
}

/** The first frame shows whose call most are; some functions of Node call each other. */
const FRAMES_LOOKED_AT = [1, 20];

/** Who called a function that is being called. */
function ownerOfCaller(called: Method): string {
  for (const frames of FRAMES_LOOKED_AT) {
    for (const site of callSitesAbove(called, frames)) {
      const place = { functionName: site.getFunctionName() ?? '', url: site.getFileName() ?? '' };
      const owner = ownerBesideTest(place, NODE);
      if (owner !== NODE) return owner;
    }
  }
  return NODE;
}

function callSitesAbove(called: Method, frames: number): readonly NodeJS.CallSite[] {
  // oxlint-disable-next-line typescript/unbound-method -- it is put back as it was
  const { prepareStackTrace, stackTraceLimit } = Error;
  const traced: { stack?: readonly NodeJS.CallSite[] } = {};
  try {
    Error.prepareStackTrace = (_error, sites) => sites;
    Error.stackTraceLimit = frames;
    Error.captureStackTrace(traced, called);
    return traced.stack ?? [];
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function doneByFrom({ given: [source] }: Call): readonly string[] {
  if (typeof source === 'string') return [CONVERTED, IN_NEW_BUFFERS];
  // That is another view of the same bytes.
  return isAnyArrayBuffer(source) ? [] : [COPIED, IN_NEW_BUFFERS];
}

function returnedLength({ returned }: Call): number {
  return lengthOf(returned);
}

function lengthOf(source: unknown): number {
  return ArrayBuffer.isView(source) ? source.byteLength : Array.isArray(source) ? source.length : 0;
}

function lengthBetween(buffer: unknown, start: unknown, end: unknown): number {
  const { length } = buffer as Uint8Array;
  return Math.max(0, Math.min(Number(end ?? length), length) - Math.max(0, Number(start ?? 0)));
}
