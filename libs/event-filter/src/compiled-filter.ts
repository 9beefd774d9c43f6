import type { ParseResult } from '@marcbachmann/cel-js';
import { MAX_FILTER_LENGTH, type FilterResult } from '#libs/domain';
import { celEnvironment, EVENT } from './cel-environment.js';
import { examine, type FilterCost } from './examine.js';
import { FilterRefusal, refuse, type FilterProblem } from './filter-problem.js';
import { valueAt } from './member-path.js';

// With these limits, the most expensive filters take about as long as a push of the same event.
/** The longest list whose elements a filter looks at … */
const MAX_LIST = 100;
/** … and how many elements it looks at in all, each list as often as it is named. Each may raise an error: 5 µs. */
const MAX_ELEMENTS = 200;
/** Nodes that are evaluated for an event. */
const MAX_STEPS = 10_000;
/** Bytes that are read through for an event: twice the largest event, or two hundred times one of 2.5 KB. */
const MAX_SCANNED_BYTES = 512 * 1024;

const MATCHES: FilterResult = { kind: 'matches' };
const LEAVES_OUT: FilterResult = { kind: 'leaves_out' };

/** Members have any type: what an event holds is not checked against its schema again. */
const environment = celEnvironment().registerVariable(EVENT, 'map<string, dyn>');

function lengthOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}

/** A filter that can be evaluated. */
export class CompiledFilter {
  constructor(
    readonly parsed: ParseResult,
    private readonly cost: FilterCost,
  ) {}

  /** Never throws. @param event the parsed envelope @param bytes its size */
  test(event: unknown, bytes: number): FilterResult {
    const refusal = this.#refusal(event, bytes);
    if (refusal !== undefined) return { kind: 'fails', reason: refusal };
    // An expression may raise and drop hundreds of errors. Nobody reads their stacks, which cost the most.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      const result: unknown = this.parsed({ [EVENT]: event });
      if (typeof result === 'boolean') return result ? MATCHES : LEAVES_OUT;
      return { kind: 'fails', reason: 'The result is neither true nor false.' };
    } catch (error) {
      return { kind: 'fails', reason: reasonOf(error) };
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  /** Returns why the event is too large for the filter. It depends on both alone: a limit of time would not. */
  #refusal(event: unknown, bytes: number): string | undefined {
    let steps = this.cost.nodes;
    let scans = this.cost.scans;
    let elements = 0;
    for (const { names, nodes, elementScans, eventScans } of this.cost.lists) {
      const length = lengthOf(valueAt(event, names));
      if (length > MAX_LIST) return `${EVENT}.${names.join('.')} has more than ${MAX_LIST} elements.`;
      elements += length;
      steps += nodes * length;
      scans += elementScans + eventScans * length;
    }
    const scanned = scans * (1 + this.cost.joins) * bytes;
    if (elements <= MAX_ELEMENTS && steps <= MAX_STEPS && scanned <= MAX_SCANNED_BYTES) return undefined;
    return 'The event is too large for this filter.';
  }
}

function reasonOf(error: unknown): string {
  const { summary } = error as { readonly summary?: unknown };
  // Errors quote the event, which may be long.
  return typeof summary === 'string' ? `${summary.slice(0, 200)}.` : 'The filter cannot be evaluated.';
}

/** Returns the compiled filter, or what is wrong with its text. */
export function compileFilter(text: string): CompiledFilter | FilterProblem {
  try {
    if (text.length > 2 * MAX_FILTER_LENGTH || Array.from(text).length > MAX_FILTER_LENGTH)
      refuse({ start: 0 }, `must not be longer than ${MAX_FILTER_LENGTH} characters.`);
    const parsed = environment.parse(text);
    const cost = examine(parsed.ast);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error ?? new Error('not valid');
    if (checked.type === 'dyn') refuse(parsed.ast, 'is not a bool. Compare it, such as event.data.urgent == true.');
    if (checked.type !== 'bool') refuse(parsed.ast, `is of type ${checked.type ?? 'unknown'}, but must be a bool.`);
    return new CompiledFilter(parsed, cost);
  } catch (error) {
    return problemOf(error);
  }
}

/** Describes an error of the library or of this one. */
export function problemOf(error: unknown): FilterProblem {
  if (error instanceof FilterRefusal) return error.problem;
  const { summary, range } = error as { readonly summary?: unknown; readonly range?: { readonly start: number } };
  const detail = typeof summary === 'string' ? `${summary.slice(0, 200)}.` : 'cannot be parsed.';
  return { offset: range?.start ?? 0, detail };
}
