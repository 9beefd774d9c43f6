import { SkeletonBlock } from '../ui/skeleton.js';

/** A page that loads for longer is replaced by a placeholder, so that a click is seen to work. */
export const PENDING_MS = 400;

/** Stands for a page whose code is loading. */
export function LoadingPage() {
  return <SkeletonBlock height="16rem" />;
}
