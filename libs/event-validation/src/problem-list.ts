import { GaplessError, type ErrorCode, type FieldProblem } from '#libs/domain';

/** The possible problems of one place in a submitted document. */
export type ProblemCode =
  /** The member is missing. */
  | 'required'
  /** The member is not known. */
  | 'unknown_member'
  | 'wrong_type'
  | 'invalid_format'
  /** The value has the right type, but is not allowed here. */
  | 'not_allowed'
  | 'out_of_range'
  | 'too_deep'
  | 'unknown_event_type'
  /** The event names another organization than the key's. */
  | 'insufficient_scope';

/** The most problems to report. More would not help the caller, and a refusal must not be larger than its request. */
const MAX_PROBLEMS = 100;

/** The problems of one document, in the order found. It counts all and keeps the first 100. */
export class ProblemList {
  readonly #kept: FieldProblem[] = [];
  readonly #firstOf = new Map<ProblemCode, FieldProblem>();

  add(pointer: string, code: ProblemCode, detail: string): void {
    const problem = { pointer, code, detail };
    if (!this.#firstOf.has(code)) this.#firstOf.set(code, problem);
    if (this.#kept.length < MAX_PROBLEMS) this.#kept.push(problem);
  }

  /**
   * @throws GaplessError if there is any problem. `insufficient_scope` if one is of that kind; then only those are
   *   reported. `unknown_event_type` if all are of that kind. Otherwise `validation_failed`.
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
