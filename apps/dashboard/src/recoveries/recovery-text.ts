import type { RecoveryProgress } from '../api/resources.js';
import { wholeNumber } from '../charts/scale.js';

const KINDS: Readonly<Record<RecoveryProgress['kinds'][number], string>> = {
  failed: 'failed',
  missed: 'missed',
  never_sent: 'never sent',
};
const ERRORS: Readonly<Record<string, string>> = {
  endpoint_inactive: 'the endpoint became inactive',
  unavailable: 'it could not begin',
};

/** `Failed and missed events`: what a recovery sends again. */
export function kindsText(kinds: RecoveryProgress['kinds']): string {
  const texts = kinds.map((kind) => KINDS[kind]);
  const [last = ''] = texts.slice(-1);
  const text = texts.length === 1 ? last : `${texts.slice(0, -1).join(', ')} and ${last}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} events`;
}

/** How far a recovery is, or why it ended. */
export function progressText({
  status,
  scheduled,
  looked_through_seq: looked,
  through_seq: through,
  error,
}: RecoveryProgress): string {
  const sent = `${wholeNumber(scheduled)} sent again`;
  switch (status) {
    case 'running':
      return `${sent}, looked through #${wholeNumber(looked)} of #${wholeNumber(through)}`;
    case 'failed':
      return `${sent}, then ${ERRORS[error ?? ''] ?? 'it failed'}`;
    case 'done':
    case 'stopped':
      return sent;
  }
}
