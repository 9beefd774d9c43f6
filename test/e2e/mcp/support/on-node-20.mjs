import { register } from 'node:module';

// Lets the conformance suite find what it imports from `fs`.
const shim = new URL('fs-of-node-22.mjs', import.meta.url).href;
const resolve = `export const resolve = (name, context, next) =>
  name === 'fs' && context.parentURL?.includes('/conformance/')
    ? { url: ${JSON.stringify(shim)}, shortCircuit: true }
    : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(resolve)}`);
