import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { EndpointWithHealth } from '../api/resources.js';
import { wholeNumber } from '../charts/scale.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Checkbox, Radio } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';
import { Skeleton } from '../ui/skeleton.js';
import { toastDone } from '../ui/toasts.js';
import { Time } from '../ui/time.js';
import { recover, useChangeEndpoint, useRecover } from './endpoint-changes.js';
import './recover-dialog.css';

type Kind = 'failed' | 'missed';

const KINDS: readonly { readonly kind: Kind; readonly text: string; readonly hint: string }[] = [
  {
    kind: 'failed',
    text: 'Deliveries that failed',
    hint: 'Attempts start again, with the same bytes and delivery ids.',
  },
  { kind: 'missed', text: 'Events missed while it was disabled', hint: 'The events that it would have received.' },
];

/**
 * Re-sends failed or missed events after its user has seen how many there are. It enables the endpoint first if needed.
 */
export function RecoverDialog({
  endpoint,
  onClose,
}: {
  readonly endpoint: EndpointWithHealth;
  readonly onClose: () => void;
}) {
  const [reach, setReach] = useState<'last-success' | 'everything'>('last-success');
  const [kinds, setKinds] = useState<ReadonlySet<Kind>>(() => new Set(['failed', 'missed']));
  const changing = useChangeEndpoint(endpoint.id);
  const recovering = useRecover(endpoint.id);
  const lastSuccess = endpoint.health.last_success_at ?? endpoint.created_at;
  const range = reach === 'everything' ? { since_seq: 0 } : { since: lastSuccess };
  const counts = { failed: useCount(endpoint.id, range, 'failed'), missed: useCount(endpoint.id, range, 'missed') };
  const wanted = KINDS.map(({ kind }) => kind).filter((kind) => kinds.has(kind));
  const total = wanted.reduce((sum, kind) => sum + (counts[kind].data ?? 0), 0);
  const isCounted = wanted.every((kind) => counts[kind].data !== undefined);
  const failure = changing.error ?? recovering.error ?? counts.failed.error ?? counts.missed.error;
  const verb = endpoint.is_active ? 'Recover' : total > 0 ? 'Enable and recover' : 'Enable';

  const act = async () => {
    if (!endpoint.is_active) await changing.mutateAsync({ is_active: true });
    if (total > 0) {
      const body = wanted.length === 2 ? range : { ...range, status: wanted[0] };
      const { scheduled } = await recovering.mutateAsync(body);
      toastDone(`${wholeNumber(scheduled)} ${scheduled === 1 ? 'delivery is' : 'deliveries are'} on the way`);
    } else {
      toastDone('Endpoint enabled');
    }
    onClose();
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title={endpoint.is_active ? 'Recover deliveries' : 'Enable and recover'}
      description={
        endpoint.is_active
          ? 'Sends the missing events to this endpoint again, in their order.'
          : 'Enables the endpoint and sends the missing events, in their order. Make sure that your receiver works again.'
      }
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="solid"
            icon="recover"
            busy={changing.isPending || recovering.isPending}
            disabled={!isCounted || (total === 0 && endpoint.is_active)}
            onClick={() => {
              // The mutations show their failures themselves.
              act().catch(() => undefined);
            }}
          >
            {total > 0 ? `${verb} ${wholeNumber(total)}` : verb}
          </Button>
        </>
      }
    >
      <fieldset className="stack-tight">
        <legend className="legend">How far back</legend>
        <Radio name="reach" checked={reach === 'last-success'} onChange={() => setReach('last-success')}>
          {endpoint.health.last_success_at === null ? 'Since it was created' : 'Since the last success'} (
          <Time iso={lastSuccess} />)
        </Radio>
        <Radio name="reach" checked={reach === 'everything'} onChange={() => setReach('everything')}>
          Everything that is still kept
        </Radio>
      </fieldset>
      <fieldset className="stack-tight">
        <legend className="legend">What</legend>
        {KINDS.map(({ kind, text, hint }) => (
          <div key={kind} className="recover-kind">
            <Checkbox
              checked={kinds.has(kind)}
              hint={hint}
              onChange={({ target }) => {
                setKinds(
                  new Set(
                    KINDS.map((each) => each.kind).filter((each) => (each === kind ? target.checked : kinds.has(each))),
                  ),
                );
              }}
            >
              {text}
            </Checkbox>
            <strong className="numeric" data-testid={`count-${kind}`}>
              {counts[kind].data === undefined ? <Skeleton width="2rem" /> : wholeNumber(counts[kind].data)}
            </strong>
          </div>
        ))}
      </fieldset>
      {failure !== null && <FailureNotice error={failure} />}
    </Dialog>
  );
}

/** Counts the events to recover; sends nothing. */
function useCount(id: string, range: { readonly since_seq: number } | { readonly since: string }, status: Kind) {
  return useQuery({
    queryKey: ['endpoints', id, 'recoverable', range, status],
    queryFn: async () => (await recover(id, { ...range, status, dry_run: true })).matched,
    gcTime: 0,
  });
}
