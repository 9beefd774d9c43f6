import { failureText } from '../api/api-problem.js';
import { mayHaveHappened } from '../api/no-answer.js';

/** A short report. */
export interface ToastText {
  readonly title: string;
  readonly description?: string | undefined;
  readonly type: 'good' | 'bad';
}

const waiting: ToastText[] = [];
const listeners = new Set<() => void>();
let isWanted = false;

function add(toast: ToastText): void {
  waiting.push(toast);
  isWanted = true;
  for (const listener of listeners) listener();
}

/** Shows briefly that something was done. */
export function toastDone(title: string, description?: string): void {
  add({ title, description, type: 'good' });
}

/** Shows briefly that something failed. If there is a place for the failure on the page, show it there. */
export function toastFailure(title: string, error: unknown): void {
  add({ title: mayHaveHappened(error) ? 'No answer' : title, description: failureText(error), type: 'bad' });
}

/** The same for a failure whose next step is known. */
export function toastProblem(title: string, description: string): void {
  add({ title, description, type: 'bad' });
}

/** Returns the toasts that are not shown yet, and forgets them. */
export function takeToasts(): readonly ToastText[] {
  return waiting.splice(0);
}

export function onToast(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** Whether there has been a toast. */
export function hasToasts(): boolean {
  return isWanted;
}
