import { Ajv2020, type DefinedError, type ValidateFunction } from 'ajv/dist/2020.js';
import { catalogEntry, type EventType, type FieldProblem } from '#libs/domain';
import type { ProblemCode } from './problem-list.js';
import { parseTimestamp } from './rfc3339.js';

/** One problem of an event's `data`. `pointer` is relative to `data`; it is `''` for `data` itself. */
export interface DataProblem extends FieldProblem {
  readonly code: ProblemCode;
}

/** The most problems to report for one event. More would not help its producer. */
const MAX_DATA_PROBLEMS = 20;

// The specs check these constant schemas, so ajv need not check them against the meta-schema at run time.
const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, validateSchema: false, meta: false });
ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== undefined });

const validators = new Map<EventType, ValidateFunction>();

/** Compiles a validator on first use, so that a process compiles only the types that it sees. */
function validatorOf(type: EventType): ValidateFunction {
  const known = validators.get(type);
  if (known !== undefined) return known;
  const compiled = ajv.compile(catalogEntry(type).schema);
  validators.set(type, compiled);
  return compiled;
}

function describe(error: DefinedError): DataProblem {
  const pointer = error.instancePath;
  if (error.keyword === 'required') {
    return { pointer: `${pointer}/${error.params.missingProperty}`, code: 'required', detail: 'is required' };
  }
  if (error.keyword === 'type') {
    return { pointer, code: 'wrong_type', detail: `must be ${[error.params.type].flat().join(' or ')}` };
  }
  if (error.keyword === 'const') {
    return { pointer, code: 'not_allowed', detail: `must be ${JSON.stringify(error.params.allowedValue)}` };
  }
  if (error.keyword === 'false schema') return { pointer, code: 'not_allowed', detail: 'must be absent' };
  if (error.keyword === 'minimum') {
    return { pointer, code: 'out_of_range', detail: `must be at least ${error.params.limit}` };
  }
  if (error.keyword === 'minLength') return { pointer, code: 'out_of_range', detail: 'must not be empty' };
  if (error.keyword === 'format') {
    return { pointer, code: 'invalid_format', detail: `must be an RFC 3339 ${error.params.format}` };
  }
  return { pointer, code: 'not_allowed', detail: error.message ?? 'is not allowed' };
}

/**
 * Checks `data` by the schema of the type (contract 5.6). Returns at most one problem for each place and 20 in all;
 * none if `data` is valid.
 */
export function validateEventData(type: EventType, data: unknown): readonly DataProblem[] {
  const validator = validatorOf(type);
  if (validator(data)) return [];
  const byPointer = new Map<string, DataProblem>();
  for (const error of (validator.errors ?? []) as DefinedError[]) {
    const problem = describe(error);
    // Keep the first problem: a value of the wrong type breaks the other keywords, too.
    if (!byPointer.has(problem.pointer)) byPointer.set(problem.pointer, problem);
  }
  return [...byPointer.values()].slice(0, MAX_DATA_PROBLEMS);
}
