import { PATHS } from './paths.js';

/** The path of agents, which no OpenAPI document describes. Its other methods answer 405 themselves. */
const AGENTS = { path: /^\/mcp$/, methods: ['POST'] };

const OPERATIONS = [
  AGENTS,
  ...Object.entries(PATHS).map(([template, operations]) => ({
    path: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    methods: Object.keys(operations as object).map((method) => method.toUpperCase()),
  })),
];

/** Returns the methods of a path, in capitals; none for an unknown path. @param target with or without a query */
export function allowedMethods(target: string): readonly string[] {
  const [path = ''] = target.split('?', 1);
  return OPERATIONS.find((operation) => operation.path.test(path))?.methods ?? [];
}
