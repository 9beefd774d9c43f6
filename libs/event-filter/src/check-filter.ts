import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { celEnvironment, EVENT } from './cel-environment.js';
import { CompiledFilter, compileFilter, problemOf } from './compiled-filter.js';
import { eventSchema, mergeShapes, shapeOf, withMember, type Shape } from './event-shape.js';
import type { FilterProblem } from './filter-problem.js';
import { memberPath } from './member-path.js';
import { evaluated, guardedMember, TypeChecks } from './type-checks.js';

/**
 * Checks a filter for an endpoint that subscribes to these types. For each of them, the filter must name only members
 * that the catalog lists, unless it asks for the type or for the member (`has`) before.
 * @param events at least one
 * @returns what is wrong; `undefined` for a valid filter
 */
export function checkFilter(text: string, events: readonly string[]): FilterProblem | undefined {
  const compiled = compileFilter(text);
  if (!(compiled instanceof CompiledFilter)) return compiled;
  const { ast } = compiled.parsed;
  try {
    const schemas = [...new Set(events)].map((event) => ({ event, schema: eventSchema(event) }));
    for (const { event, schema } of schemas) new TypeChecks(event, schema).check(ast);
    const listed = [...new Set(schemas.map(({ schema }) => schema))].map(shapeOf).reduce(mergeShapes);
    const environment = celEnvironment();
    const type = declare(environment, guardedMembers(ast).reduce(withMember, listed), EVENT);
    const checked = environment.registerVariable(EVENT, type).check(text);
    return checked.valid ? undefined : problemOf(checked.error);
  } catch (error) {
    return problemOf(error);
  }
}

/** Checks a filter without event types. @returns what is wrong; `undefined` for a valid filter */
export function checkSyntax(text: string): FilterProblem | undefined {
  const compiled = compileFilter(text);
  return compiled instanceof CompiledFilter ? undefined : compiled;
}

/** Returns the members that the expression asks for with `has`. */
function guardedMembers(node: ASTNode): readonly (readonly string[])[] {
  const guarded = guardedMember(node);
  const names = guarded === undefined ? undefined : memberPath(guarded)?.names;
  return [...(names === undefined ? [] : [names]), ...evaluated(node).flatMap(guardedMembers)];
}

/** Declares the shape to the library. @returns the name of its type */
function declare(environment: Environment, shape: Shape, name: string): string {
  switch (shape.kind) {
    case 'any':
      return 'dyn';
    case 'scalar':
      return shape.type;
    case 'list':
      return `list<${declare(environment, shape.of, `${name}_element`)}>`;
    case 'object': {
      const members = [...shape.members].map(([member, of]) => [member, declare(environment, of, `${name}_${member}`)]);
      environment.registerType(name, { fields: Object.fromEntries(members) as Record<string, string> });
      return name;
    }
  }
}
