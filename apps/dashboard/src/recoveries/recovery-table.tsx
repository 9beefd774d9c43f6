import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { RecoveryProgress } from '../api/resources.js';
import { wholeNumber } from '../charts/scale.js';
import { stopRecovery } from '../endpoints/endpoint-changes.js';
import { useScope } from '../session/use-session.js';
import { Button } from '../ui/button.js';
import { CopyIcon } from '../ui/copy-button.js';
import type { IconName } from '../ui/icon.js';
import { Badge, type Tone } from '../ui/status-badge.js';
import { toastDone, toastFailure } from '../ui/toast-queue.js';
import { Time } from '../ui/time.js';
import { kindsText, progressText } from './recovery-text.js';
import './recovery-table.css';

const STATUSES: Readonly<
  Record<RecoveryProgress['status'], { readonly tone: Tone; readonly icon: IconName; readonly text: string }>
> = {
  running: { tone: 'wait', icon: 'clock', text: 'Running' },
  done: { tone: 'good', icon: 'check', text: 'Done' },
  stopped: { tone: 'off', icon: 'pause', text: 'Stopped' },
  failed: { tone: 'bad', icon: 'cross', text: 'Failed' },
};

/** Recoveries: what each sends again, how far it is, and what stops it. */
export function RecoveryTable({ recoveries }: { readonly recoveries: readonly RecoveryProgress[] }) {
  return (
    <table className="table recovery-table">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Recovery</th>
          <th scope="col" className="end">
            Began
          </th>
        </tr>
      </thead>
      <tbody>
        {recoveries.map((recovery) => (
          <RecoveryRow key={recovery.id} recovery={recovery} />
        ))}
      </tbody>
    </table>
  );
}

function RecoveryRow({ recovery }: { readonly recovery: RecoveryProgress }) {
  const { tone, icon, text } = STATUSES[recovery.status];
  return (
    <tr>
      <td>
        <Badge tone={tone} icon={icon}>
          {text}
        </Badge>
      </td>
      <td>
        <span className="row-apart">
          <span>
            {kindsText(recovery.kinds)} <RangeText recovery={recovery} />
            <span className="cell-note">{progressText(recovery)}</span>
          </span>
          {recovery.status === 'running' && <StopButton recovery={recovery} />}
        </span>
        <span className="id-with-copy muted">
          <code className="truncate">{recovery.id}</code>
          <CopyIcon text={recovery.id} what="recovery id" />
        </span>
      </td>
      <td className="end muted">
        <Time iso={recovery.created_at} />
      </td>
    </tr>
  );
}

/** Which events a recovery covers. */
function RangeText({ recovery: { since, since_seq: afterSeq, until } }: { readonly recovery: RecoveryProgress }) {
  return (
    <>
      {/* The api leaves out the seq itself. */}
      {afterSeq !== null && (afterSeq === 0 ? 'of all that is kept' : `from #${wholeNumber(afterSeq + 1)} on`)}
      {since !== null && (
        <>
          since <Time iso={since} />
        </>
      )}
      {until !== null && (
        <>
          {' '}
          until <Time iso={until} />
        </>
      )}
    </>
  );
}

function StopButton({ recovery: { id, webhook_id: endpointId } }: { readonly recovery: RecoveryProgress }) {
  const queries = useQueryClient();
  const stopping = useMutation({
    mutationFn: () => stopRecovery(endpointId, id),
    onSuccess: () => {
      toastDone('Recovery stopped', 'Events that are already scheduled are still sent.');
      void queries.invalidateQueries({ queryKey: ['endpoints', endpointId] });
      void queries.invalidateQueries({ queryKey: ['found-recovery', id] });
    },
    onError: (error) => {
      toastFailure('Not stopped', error);
    },
  });
  if (!useScope('webhooks:write')) return null;
  return (
    <Button busy={stopping.isPending} onClick={() => stopping.mutate()}>
      Stop
    </Button>
  );
}
