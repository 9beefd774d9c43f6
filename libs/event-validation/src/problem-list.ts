import { GaplessError, type ErrorCode, type FieldProblem } from '#libs/domain';

/** The possible problems of one place in a submitted document. */
export type ProblemCode =
  /** The member is missing. */
  | 'required'
  /** There is no such member. */
  | 'unknown_member'
  | 'wrong_type'
  | 'invalid_format'
  /** A value of the right type that cannot stand here. */
  | 'not_allowed'
  | 'out_of_range'
  | 'too_deep'
  | 'unknown_event_type'
  /** The key is bound to another organization than the one named. */
  | 'insufficient_scope';

/** More would not help the caller, and a refusal must not be larger than its request. */
const MAX_PROBLEMS = 100;

/** The problems of one document, in the order found. All count; the first 100 are kept. */
export class ProblemList {
  readonly #kept: FieldProblem[] = [];
  readonly #firstOf = new Map<ProblemCode, FieldProblem>();

  add(pointer: string, code: ProblemCode, detail: string): void {
    const problem = { pointer, code, detail };
    if (!this.#firstOf.has(code)) this.#firstOf.set(code, problem);
    if (this.#kept.length < MAX_PROBLEMS) this.#kept.push(problem);
  }

  /**
   * @throws GaplessError if there is any problem: `insufficient_scope` if there is one of that kind, and then nothing
   * else is reported; `unknown_event_type` if all are of that kind; else `validation_failed`.
   */
  throwIfAny(): void {
    const [first] = this.#kept;
    if (first === undefined) return;
    const foreign = this.#firstOf.get('insufficient_scope');
    if (foreign !== undefined) throw asError('insufficient_scope', foreign, [foreign]);
    const onlyUnknownTypes = this.#firstOf.size === 1 && first.code === 'unknown_event_type';
    throw asError(onlyUnknownTypes ? 'unknown_event_type' : 'validation_failed', first, this.#kept);
  }
}

function asError(code: ErrorCode, first: FieldProblem, problems: readonly FieldProblem[]): GaplessError {
  return new GaplessError(code, `${first.pointer}: ${first.detail}`, { problems });
}
