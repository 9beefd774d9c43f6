import { PATHS } from './paths.js';

const OPERATIONS = Object.entries(PATHS).map(([template, operations]) => ({
  path: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  methods: Object.keys(operations as object).map((method) => method.toUpperCase()),
}));

/** Returns the methods of an api path, in capitals; none for an unknown path. @param target with or without a query */
export function allowedMethods(target: string): readonly string[] {
  const [path = ''] = target.split('?', 1);
  return OPERATIONS.find((operation) => operation.path.test(path))?.methods ?? [];
}
