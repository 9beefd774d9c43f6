import { problemOfShownText, type FieldProblem, type JsonObject } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import type { MemberRule } from './checked.decorator.js';

/**
 * Characters that a text must not have. Postgres cannot store NUL, UTF-8 has no lone surrogates, and the others are
 * invisible.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\p{Surrogate}/u;
/** The same rule for the documentation. It omits lone surrogates, which JSON cannot hold in a pattern. */
const PRINTABLE_PATTERN = String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$`;

/** Break a line, or are invisible. */
const CONTROL = /\p{Cc}/u;

/** Patterns cannot say all of `problemOfShownText`, which needs Unicode's properties. */
const SHOWN_PATTERN = String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$`;

/** The same for texts of one line. */
const LINE_PATTERN = SHOWN_PATTERN.replace(
  String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f`,
  String.raw`\u0000-\u001f\u007f-\u009f`,
);

/** @param pointer to an element of the member; empty for the member itself */
export function problem(code: string, detail: string, pointer = ''): FieldProblem {
  return { pointer, code, detail };
}

/** A member that must be there. */
export function required({ check, schema }: MemberRule): MemberRule {
  return { schema, check: (value) => (value === undefined ? [problem('required', 'is required')] : check(value)) };
}

/** A member that may be left out, but not be null. */
export function absentOr({ check, schema }: MemberRule): MemberRule {
  return { schema, check: (value) => (value === undefined ? [] : check(value)) };
}

/** A member that may be left out, and may be null. */
export function absentOrNull({ check, schema }: MemberRule): MemberRule {
  const {
    type,
    enum: values,
    oneOf: kinds,
    ...rest
  } = schema as JsonObject & { readonly enum?: readonly string[]; readonly oneOf?: readonly JsonObject[] };
  return {
    schema: {
      ...(kinds === undefined ? { type: [type, 'null'] } : { oneOf: [...kinds, { type: 'null' }] }),
      ...(values === undefined ? {} : { enum: [...values, null] }),
      ...rest,
    },
    check: (value) => (value === undefined || value === null ? [] : check(value).map(orNull)),
  };
}

/** Says of a member of the wrong type that it may be null, too. */
function orNull(one: FieldProblem): FieldProblem {
  return one.code === 'wrong_type' && one.pointer === '' ? { ...one, detail: `${one.detail} or null` } : one;
}

/** @param more members of JSON Schema to add, such as a description */
export function described({ check, schema }: MemberRule, more: JsonObject): MemberRule {
  return { check, schema: { ...schema, ...more } };
}

export const aString: MemberRule = {
  schema: { type: 'string' },
  check: (value) => (typeof value === 'string' ? [] : [problem('wrong_type', 'must be a string')]),
};

/** @param maxLength in characters, as a reader counts them */
export function aTextOf(maxLength: number): MemberRule {
  return {
    schema: { type: 'string', maxLength, pattern: PRINTABLE_PATTERN },
    check: (value) => {
      if (typeof value !== 'string') return [problem('wrong_type', 'must be a string')];
      if (Array.from(value).length > maxLength) {
        return [problem('out_of_range', `must not be longer than ${maxLength} characters`)];
      }
      return UNPRINTABLE.test(value) ? [problem('invalid_format', 'must not hold control characters')] : [];
    },
  };
}

/** A text that people see. It may be empty. @param maxLength in characters, as a reader counts them */
export function aShownTextOf(maxLength: number): MemberRule {
  const text = aTextOf(maxLength);
  return {
    schema: { ...text.schema, pattern: SHOWN_PATTERN },
    check: (value) => {
      const found = text.check(value);
      if (found.length > 0 || typeof value !== 'string') return found;
      const detail = problemOfShownText(value);
      return detail === null ? [] : [problem('invalid_format', detail)];
    },
  };
}

/** A text of one line that people see. It may be empty. @param maxLength in characters, as a reader counts them */
export function aLineOf(maxLength: number): MemberRule {
  const text = aShownTextOf(maxLength);
  return {
    schema: { ...text.schema, pattern: LINE_PATTERN },
    check: (value) => {
      const found = text.check(value);
      if (found.length > 0 || typeof value !== 'string') return found;
      return CONTROL.test(value) ? [problem('invalid_format', 'must not hold control characters')] : [];
    },
  };
}

/** A text of one line that people see, which shows something. @param maxLength in characters, as a reader counts them */
export function aNameOf(maxLength: number): MemberRule {
  const text = aLineOf(maxLength);
  return {
    schema: { ...text.schema, minLength: 1 },
    check: (value) => {
      const found = text.check(value);
      if (found.length > 0 || typeof value !== 'string') return found;
      return value === '' ? [problem('out_of_range', 'must not be empty')] : [];
    },
  };
}

export const aBoolean: MemberRule = {
  schema: { type: 'boolean' },
  check: (value) => (typeof value === 'boolean' ? [] : [problem('wrong_type', 'must be true or false')]),
};

/** An integer within the bounds, both included. */
export function anIntegerOf(minimum: number, maximum: number): MemberRule {
  return {
    schema: { type: 'integer', minimum, maximum },
    check: (value) => {
      if (typeof value !== 'number') return [problem('wrong_type', 'must be a number')];
      return Number.isSafeInteger(value) && value >= minimum && value <= maximum
        ? []
        : [problem('out_of_range', `must be an integer from ${minimum} to ${maximum}`)];
    },
  };
}

export const aTimestamp: MemberRule = {
  schema: { type: 'string', format: 'date-time' },
  check: (value) => {
    if (typeof value !== 'string') return [problem('wrong_type', 'must be a string')];
    return parseTimestamp(value) === undefined ? [problem('invalid_format', 'must be an RFC 3339 date-time')] : [];
  },
};

/** An array of limited length: each element may bring a problem. @param element the rule of each element */
export function anArrayOf(
  element: MemberRule,
  o: { readonly minItems?: number; readonly maxItems: number; readonly uniqueItems?: true; readonly of: string },
): MemberRule {
  const { of, ...bounds } = o;
  const { minItems = 0, maxItems } = o;
  return {
    schema: { type: 'array', ...bounds, items: element.schema },
    check: (value) => {
      if (!Array.isArray(value)) return [problem('wrong_type', `must be an array of ${of}`)];
      if (value.length < minItems) return [problem('out_of_range', `must have at least ${minItems} of ${of}`)];
      if (value.length > maxItems) return [problem('out_of_range', `must have at most ${maxItems} of ${of}`)];
      return value.flatMap((one: unknown, index) => {
        const found = element.check(one).map((each) => ({ ...each, pointer: `/${index}${each.pointer}` }));
        if (found.length > 0 || o.uniqueItems !== true || value.indexOf(one) === index) return found;
        return [problem('not_allowed', 'is there already', `/${index}`)];
      });
    },
  };
}

/** One of these texts. */
export function oneOf(values: readonly string[]): MemberRule {
  return {
    schema: { type: 'string', enum: values },
    check: (value) => {
      if (typeof value !== 'string') return [problem('wrong_type', 'must be a string')];
      return values.includes(value) ? [] : [problem('not_allowed', `must be one of ${values.join(', ')}`)];
    },
  };
}

/** Some of these texts, none twice. */
export function aSetOf(values: readonly string[], o: { readonly minItems?: number; readonly of: string }): MemberRule {
  return anArrayOf(oneOf(values), { ...o, maxItems: values.length, uniqueItems: true });
}

/** An object with these members and no others. */
export function anObjectOf(members: Readonly<Record<string, MemberRule>>): MemberRule {
  return {
    schema: objectSchema(members),
    check: (value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        return [problem('wrong_type', 'must be an object')];
      }
      const unknown = Object.keys(value).some((name) => !Object.hasOwn(members, name));
      const names = Object.keys(members).join(' and ');
      return [
        ...(unknown ? [problem('unknown_member', `may hold ${names} alone`)] : []),
        ...Object.entries(members).flatMap(([name, { check }]) =>
          check((value as Record<string, unknown>)[name]).map((one) => ({ ...one, pointer: `/${name}${one.pointer}` })),
        ),
      ];
    },
  };
}

/** Returns the JSON Schema of an object with these members and no others. */
export function objectSchema(members: Readonly<Record<string, MemberRule>>): JsonObject {
  const entries = Object.entries(members);
  const needed = entries.filter(([, { check }]) => check(undefined).length > 0).map(([name]) => name);
  return {
    type: 'object',
    additionalProperties: false,
    ...(needed.length === 0 ? {} : { required: needed }),
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
  };
}
