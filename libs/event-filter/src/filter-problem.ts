/** A reason to refuse a filter, and its place. */
export interface FilterProblem {
  /** The offset in the text, from 0. */
  readonly offset: number;
  /** A sentence without its start: it follows "line 1, column 5: ". */
  readonly detail: string;
}

/** Thrown while a filter is examined. */
export class FilterRefusal extends Error {
  constructor(readonly problem: FilterProblem) {
    super(problem.detail);
  }
}

/** @throws FilterRefusal */
export function refuse(at: { readonly start: number }, detail: string): never {
  throw new FilterRefusal({ offset: at.start, detail });
}
