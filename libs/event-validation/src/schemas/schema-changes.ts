import type { JsonObject } from '#libs/domain';

/**
 * The consumers that a change of a schema breaks. `deployed`: consumers built on the old schema, when they read new
 * events. `upgraded`: consumers built on the new schema, when they read old events from the log.
 */
export type BrokenConsumer = 'deployed' | 'upgraded';

export interface BreakingChange {
  /** JSON Pointer into the schema. */
  readonly pointer: string;
  readonly breaks: BrokenConsumer;
  readonly detail: string;
}

type Schema = JsonObject | boolean;

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

/** Keywords that do not restrict values, so they may change freely. */
const ANNOTATIONS = new Set([
  '$id',
  '$schema',
  '$comment',
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
]);
const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
/** Keywords that the comparison below understands. Any change of another keyword counts as breaking. */
const JUDGED = new Set([
  ...['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'allOf'],
  ...LOWER_BOUNDS,
  ...UPPER_BOUNDS,
]);

/** Returns JSON text that is the same for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** Returns the value as a schema. A missing schema allows any value. */
function schemaOr(value: unknown): Schema {
  return isSchema(value) ? value : true;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isSchema(value) && typeof value === 'object' ? value : {};
}

/** Whether unknown members are refused, or have a schema to match. */
function isClosed({ additionalProperties }: JsonObject): boolean {
  return additionalProperties !== undefined && additionalProperties !== true;
}

/** Collects breaking changes, place by place. */
class Comparison {
  readonly found: BreakingChange[] = [];

  /** Notes that new events may be invalid by the old schema. */
  loosened(pointer: string, detail: string): void {
    this.found.push({ pointer, breaks: 'deployed', detail });
  }

  /** Notes that old events may be invalid by the new schema. */
  tightened(pointer: string, detail: string): void {
    this.found.push({ pointer, breaks: 'upgraded', detail });
  }

  compare(before: Schema, after: Schema, at: string): void {
    // Stop here: the parts of a schema that allows anything would recurse without end.
    if (before === true && after === true) return;
    if (before === false || after === false) {
      if (before !== false) this.tightened(at, 'must be absent now');
      if (after !== false) this.loosened(at, 'had to be absent, and may be there now');
      return;
    }
    const old = membersOf(before);
    const now = membersOf(after);
    this.#types(old, now, at);
    this.#values(old, now, at);
    this.#bounds(old, now, at);
    this.#required(old, now, at);
    this.#properties(old, now, at);
    this.#members('additionalProperties', old, now, at);
    this.#members('items', old, now, at);
    this.#allOf(old, now, at);
    this.#others(old, now, at);
  }

  /** @param old the allowed values; undefined for any */
  #sets(old: readonly string[] | undefined, now: readonly string[] | undefined, at: string): void {
    const added = old === undefined ? [] : (now?.filter((value) => !old.includes(value)) ?? ['anything']);
    const removed = now === undefined ? [] : (old?.filter((value) => !now.includes(value)) ?? ['anything else']);
    if (added.length > 0) this.loosened(at, `may be ${added.join(' or ')} now`);
    if (removed.length > 0) this.tightened(at, `may not be ${removed.join(' or ')} any more`);
  }

  #types(old: JsonObject, now: JsonObject, at: string): void {
    const typesOf = ({ type }: JsonObject): readonly string[] => {
      const named = type === undefined ? TYPES : ([type].flat() as string[]);
      return named.includes('number') && !named.includes('integer') ? [...named, 'integer'] : named;
    };
    this.#sets(typesOf(old), typesOf(now), at);
  }

  #values(old: JsonObject, now: JsonObject, at: string): void {
    const valuesOf = (schema: JsonObject): readonly string[] | undefined => {
      const listed = Array.isArray(schema['enum']) ? schema['enum'].map(canonical) : undefined;
      if (!('const' in schema)) return listed;
      const only = canonical(schema['const']);
      return listed === undefined || listed.includes(only) ? [only] : [];
    };
    this.#sets(valuesOf(old), valuesOf(now), at);
  }

  #bounds(old: JsonObject, now: JsonObject, at: string): void {
    const compareBounds = (names: readonly string[], absent: number, loosens: (step: number) => boolean) => {
      for (const name of names) {
        const [was, is] = [old, now].map((schema) => (typeof schema[name] === 'number' ? schema[name] : absent));
        if (was === undefined || is === undefined || was === is) continue;
        const detail = `${name} was ${Number.isFinite(was) ? was : 'not there'}, and is ${Number.isFinite(is) ? is : 'not there'}`;
        if (loosens(is - was)) this.loosened(at, detail);
        else this.tightened(at, detail);
      }
    };
    compareBounds(LOWER_BOUNDS, -Infinity, (step) => step < 0);
    compareBounds(UPPER_BOUNDS, Infinity, (step) => step > 0);
  }

  #required(old: JsonObject, now: JsonObject, at: string): void {
    const [was, is] = [old, now].map(({ required }) => (Array.isArray(required) ? (required as string[]) : []));
    for (const name of was ?? []) {
      if (is?.includes(name) === false)
        this.loosened(`${at}/properties/${name}`, 'was always there, and may be absent now');
    }
    for (const name of is ?? []) {
      if (was?.includes(name) === false) this.tightened(`${at}/properties/${name}`, 'is required now, and was not');
    }
  }

  #properties(old: JsonObject, now: JsonObject, at: string): void {
    const was = membersOf(old['properties']);
    const is = membersOf(now['properties']);
    for (const [name, schema] of Object.entries(was)) {
      const place = `${at}/properties/${name}`;
      if (name in is) this.compare(schemaOr(schema), schemaOr(is[name]), place);
      else if (schema === false) this.loosened(place, 'had to be absent, and may be there now');
      else this.loosened(place, 'is not described any more');
      if (!(name in is) && schema !== false && isClosed(now)) this.tightened(place, 'is not allowed any more');
    }
    for (const [name, schema] of Object.entries(is)) {
      if (name in was) continue;
      const place = `${at}/properties/${name}`;
      // Old events hold no members that were not described, so a new member counts as absent there.
      if (schema === false) this.tightened(place, 'must be absent now');
      else if (isClosed(old)) this.loosened(place, 'is new where other members were not allowed');
    }
  }

  #members(keyword: 'additionalProperties' | 'items', old: JsonObject, now: JsonObject, at: string): void {
    this.compare(schemaOr(old[keyword]), schemaOr(now[keyword]), `${at}/${keyword}`);
  }

  #allOf(old: JsonObject, now: JsonObject, at: string): void {
    const [was, is] = [old, now].map(({ allOf }) => (Array.isArray(allOf) ? (allOf as unknown[]) : []));
    const longest = Math.max(was?.length ?? 0, is?.length ?? 0);
    for (let index = 0; index < longest; index++) {
      this.compare(schemaOr(was?.[index]), schemaOr(is?.[index]), `${at}/allOf/${index}`);
    }
  }

  #others(old: JsonObject, now: JsonObject, at: string): void {
    for (const keyword of new Set([...Object.keys(old), ...Object.keys(now)])) {
      if (JUDGED.has(keyword) || ANNOTATIONS.has(keyword)) continue;
      if (canonical(old[keyword]) === canonical(now[keyword])) continue;
      if (keyword in old) this.loosened(at, `${keyword} was ${canonical(old[keyword])}`);
      if (keyword in now) this.tightened(at, `${keyword} is ${canonical(now[keyword])}`);
    }
  }
}

/**
 * Returns the changes that break consumers. The log keeps events for weeks, so both directions must work. Readers with
 * the old schema must understand new events, and readers with the new schema old events. Adding an optional member is
 * always allowed.
 */
export function breakingChanges(before: JsonObject, after: JsonObject): readonly BreakingChange[] {
  const comparison = new Comparison();
  comparison.compare(before, after, '');
  return comparison.found;
}
