/** What differs between the samples of one language. */
export interface SampleParts {
  readonly path: string;
  /** For a comment. */
  readonly about: string;
  /** Whether a request has a list of events. */
  readonly hasBatches: boolean;
}
