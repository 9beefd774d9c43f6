import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Returns a module of kafkajs that it does not export.
 * @param path within its `src`
 * @throws if kafkajs has no such module
 */
export function requireKafkajs(path: string): unknown {
  return require(`kafkajs/src/${path}`);
}

/** Returns the methods of the class that a module of kafkajs has. @throws like `requireKafkajs` */
export function methodsOfKafkajs(path: string): object {
  return (requireKafkajs(path) as { readonly prototype: object }).prototype;
}

/**
 * Replaces a method of a class of kafkajs for the whole thread.
 * @param make returns the new method; called with the one that is replaced
 * @throws if the class has no such method: this version of kafkajs is another than the one that Gapless knows
 */
export function wrap<Methods extends object, Name extends keyof Methods & string>(
  methods: Methods,
  name: Name,
  make: (method: Methods[Name]) => Methods[Name],
): void {
  const method = methods[name];
  if (typeof method !== 'function') throw new Error(`kafkajs has no ${methods.constructor.name}.${name}`);
  methods[name] = make(method);
}
