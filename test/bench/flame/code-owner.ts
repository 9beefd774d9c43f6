/** Where code comes from. */
export type Origin = 'own' | 'package' | 'node' | 'engine';

/** A function, by its name and by where its code is: a path or an address; empty for what the engine has itself. */
export interface CodePlace {
  readonly functionName: string;
  readonly url: string;
}

/** Owns what Node does of itself. */
export const NODE = 'Node';

export const GARBAGE_COLLECTOR = '(garbage collector)';

/** WebAssembly counts as the engine: its caller answers for it. */
export function originOf({ url }: Pick<CodePlace, 'url'>): Origin {
  if (url === '' || url.startsWith('wasm:')) return 'engine';
  if (url.startsWith('node:')) return 'node';
  return url.includes('/node_modules/') ? 'package' : 'own';
}

/** Whose code it is: a package by its name, Gapless, Node, or what the engine does by itself. */
export function ownerOf({ functionName, url }: CodePlace): string {
  switch (originOf({ url })) {
    case 'own':
      return 'Gapless';
    case 'package':
      return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? '';
    case 'node':
      return NODE;
    case 'engine':
      return functionName;
  }
}

/**
 * Who answers for what a function uses: its owner, or for what Node and the engine do its caller. Collecting garbage is
 * counted by itself, since nobody calls it.
 * @param caller who answers for what called it
 */
export function answeringFor(
  { origin, owner }: { readonly origin: Origin; readonly owner: string },
  caller: string,
): string {
  return origin === 'own' || origin === 'package' || owner === GARBAGE_COLLECTOR ? owner : caller;
}
