import { useMutation, useQueries, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiProblem } from '../api/api-problem.js';
import { NoAnswer } from '../api/no-answer.js';
import { deliveryQuery, endpointQuery } from '../api/queries.js';
import type { DeliveryDetail, EndpointWithHealth, Recovery } from '../api/resources.js';
import { wholeNumber } from '../charts/scale.js';
import { resultText } from '../deliveries/ending.js';
import { browserClock } from '../time/clock.js';
import { zoneName } from '../time/time-text.js';
import { useSettled } from '../time/use-settled.js';
import { Button } from '../ui/button.js';
import { CancelButton, Dialog } from '../ui/dialog.js';
import { Checkbox, Radio, TextField } from '../ui/field.js';
import { FailureNotice, Notice } from '../ui/notice.js';
import { Skeleton } from '../ui/skeleton.js';
import { toastFailure } from '../ui/toast-queue.js';
import { recover, recovery, stopRecovery, useChangeEndpoint, useRecover, useTestEndpoint } from './endpoint-changes.js';
import { recoveryOutcome } from './recovery-outcome.js';
import { localInput, parseReach, type Range, type ReachDraft } from './recovery-range.js';
import './recover-dialog.css';

type Kind = 'failed' | 'missed' | 'never_sent';

const KINDS: readonly { readonly kind: Kind; readonly text: string; readonly hint: string }[] = [
  {
    kind: 'failed',
    text: 'Deliveries that failed',
    hint: 'Attempts start again, with the same bytes and delivery ids.',
  },
  { kind: 'missed', text: 'Events missed while it was disabled', hint: 'The events that it would have received.' },
  {
    kind: 'never_sent',
    text: 'Events that were never sent',
    hint: 'All that match the endpoint as it is now, from before it was created too.',
  },
];
const SETTLE_MS = 300;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** An attempt may take 10 s, and waits for its turn before. */
const TEST_PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 500;

/** A recovery that is under way. */
interface Sent {
  readonly recoveries: readonly string[];
  readonly total: number;
}

type Phase =
  | { readonly kind: 'choosing' }
  | { readonly kind: 'testing' }
  | { readonly kind: 'test-failed'; readonly test: DeliveryDetail | undefined }
  | { readonly kind: 'sending' }
  | ({ readonly kind: 'sent' } & Sent);

interface RecoverDialogProps {
  readonly endpoint: EndpointWithHealth;
  /** The seq at which the recovery begins, if it was chosen in a list. */
  readonly fromSeq?: number | undefined;
  readonly onClose: () => void;
}

/**
 * Re-sends failed or missed events after its user has seen how many there are. It enables the endpoint first if needed,
 * and sends one test event before it recovers, unless its user does not want that. If the test fails or the dialog is
 * closed during it, nothing is recovered, and an endpoint that was inactive is paused again. It gets new events until
 * then.
 */
export function RecoverDialog({ endpoint, fromSeq, onClose }: RecoverDialogProps) {
  const [reach, setReach] = useState<ReachDraft>(() => ({
    kind: fromSeq === undefined ? 'everything' : 'seq',
    since: localInput(browserClock.now() - DAY_MS),
    until: '',
    seq: fromSeq === undefined ? '' : String(fromSeq),
  }));
  const [kinds, setKinds] = useState<ReadonlySet<Kind>>(() => new Set(['failed', 'missed']));
  const [isTestedFirst, setTestedFirst] = useState(true);
  const [phase, setPhase] = useState<Phase>({ kind: 'choosing' });
  const settledReach = useSettled(reach, SETTLE_MS);
  const parsed = parseReach(settledReach);
  const counts = useCounts(endpoint.id, parsed.kind === 'ok' ? parsed.range : undefined);
  const { act, error: actError } = useRecovery(endpoint, setPhase);
  // Missed events were never sent, so they are among those.
  const wanted = KINDS.map(({ kind }) => kind).filter(
    (kind) => kinds.has(kind) && !(kind === 'missed' && kinds.has('never_sent')),
  );
  const total = wanted.reduce((sum, kind) => sum + (counts[kind].data?.matched ?? 0), 0);
  // A count gives up after a while. What it has not looked at may have something.
  const isEmpty = total === 0 && wanted.every((kind) => counts[kind].data?.complete !== false);
  const isCounted =
    parsed.kind === 'ok' && settledReach === reach && wanted.every((kind) => counts[kind].data !== undefined);
  const failure = actError ?? counts.failed.error ?? counts.missed.error ?? counts.never_sent.error;
  const isBusy = phase.kind === 'testing' || phase.kind === 'sending';
  // The test may need the endpoint enabled for a moment. Until it is over, the dialog says what it will do.
  const [wasActive, setWasActive] = useState(endpoint.is_active);
  const isActive = isBusy ? wasActive : endpoint.is_active;
  const verb = isActive ? 'Recover' : isEmpty ? 'Enable' : 'Enable and recover';

  if (phase.kind === 'sent') {
    return <Outcome endpointId={endpoint.id} sent={phase} onClose={onClose} />;
  }
  return (
    <Dialog
      open
      // What was asked for in this phase cannot be taken back.
      busy={phase.kind === 'sending'}
      onClose={onClose}
      title={isActive ? 'Recover deliveries' : 'Enable and recover'}
      description={
        isActive
          ? 'Sends the missing events to this endpoint again.'
          : 'Enables the endpoint and sends the missing events. Make sure that your receiver works again.'
      }
      actions={
        <>
          <CancelButton busy={phase.kind === 'sending'} onClose={onClose} />
          <Button
            look="solid"
            icon="recover"
            busy={isBusy}
            disabled={!isCounted || (isEmpty && isActive)}
            onClick={() => {
              if (parsed.kind !== 'ok') return;
              const { range } = parsed;
              setWasActive(endpoint.is_active);
              const isDefault = wanted.length === 2 && !kinds.has('never_sent');
              const bodies = isDefault ? [range] : wanted.map((status) => ({ ...range, status }));
              void act({ bodies: isEmpty ? [] : bodies, total, isTestedFirst });
            }}
          >
            {phase.kind === 'testing' ? 'Testing …' : total > 0 ? `${verb} ${wholeNumber(total)}` : verb}
          </Button>
        </>
      }
    >
      <ReachPicker reach={reach} wrong={parsed.kind === 'wrong' ? parsed : undefined} onChange={setReach} />
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
              {counts[kind].data === undefined ? <Skeleton width="2rem" /> : countText(counts[kind].data)}
            </strong>
          </div>
        ))}
      </fieldset>
      <Checkbox
        checked={isTestedFirst}
        hint={
          isActive
            ? 'Nothing is recovered if the test fails.'
            : 'If it fails, nothing is recovered, and the endpoint is paused again. It gets new events until then.'
        }
        onChange={({ target }) => {
          setTestedFirst(target.checked);
        }}
      >
        Send a test event first
      </Checkbox>
      {phase.kind === 'test-failed' && (
        <Notice tone="bad" title="The test failed, so nothing was recovered">
          {phase.test === undefined ? 'There was no answer yet.' : `${resultText(phase.test)}.`}{' '}
          {endpoint.is_active ? 'New events are still sent.' : 'The endpoint is not active, and gets nothing.'} Fix the
          receiver, then try again.
        </Notice>
      )}
      {failure !== null && <FailureNotice error={failure} />}
    </Dialog>
  );
}

interface ReachPickerProps {
  readonly reach: ReachDraft;
  readonly wrong: { readonly field: 'since' | 'until' | 'seq'; readonly reason: string } | undefined;
  readonly onChange: (reach: ReachDraft) => void;
}

function ReachPicker({ reach, wrong, onChange }: ReachPickerProps) {
  const radio = (kind: ReachDraft['kind']) => ({
    name: 'reach',
    checked: reach.kind === kind,
    onChange: () => {
      onChange({ ...reach, kind });
    },
  });
  const problem = (field: 'since' | 'until' | 'seq') => (wrong?.field === field ? wrong.reason : undefined);
  return (
    <fieldset className="stack-tight">
      <legend className="legend">How far back</legend>
      <Radio {...radio('everything')}>Everything that is still kept</Radio>
      <Radio {...radio('time')}>Between two times</Radio>
      {reach.kind === 'time' && (
        <div className="columns-2 recover-detail">
          <TextField
            label={`From (${zoneOf(reach.since)})`}
            type="datetime-local"
            value={reach.since}
            error={problem('since')}
            onChange={({ target }) => onChange({ ...reach, since: target.value })}
          />
          <TextField
            label={`Until (${reach.until === '' ? 'optional' : zoneOf(reach.until)})`}
            type="datetime-local"
            value={reach.until}
            error={problem('until')}
            onChange={({ target }) => onChange({ ...reach, until: target.value })}
          />
        </div>
      )}
      <Radio {...radio('seq')}>From a seq on</Radio>
      {reach.kind === 'seq' && (
        <div className="recover-detail">
          <TextField
            label="First seq"
            inputMode="numeric"
            placeholder="#4128"
            value={reach.seq}
            error={reach.seq === '' ? undefined : problem('seq')}
            onChange={({ target }) => onChange({ ...reach, seq: target.value })}
          />
        </div>
      )}
    </fieldset>
  );
}

/** Returns the zone of a local time, which summer time may change. One that is not complete has that of now. */
function zoneOf(local: string): string {
  const ms = Date.parse(local);
  return zoneName(Number.isNaN(ms) ? browserClock.now() : ms);
}

interface Count {
  readonly matched: number;
  readonly complete: boolean;
}

function countText({ matched, complete }: Count): string {
  return complete ? wholeNumber(matched) : `${wholeNumber(matched)}+`;
}

/** Counts the events to recover; sends nothing. */
function useCounts(id: string, range: Range | undefined) {
  const count = (status: Kind) => ({
    queryKey: ['endpoints', id, 'recoverable', range ?? null, status],
    queryFn: (): Promise<Count> => recover(id, { ...(range ?? { since_seq: 0 }), status, dry_run: true }),
    enabled: range !== undefined,
    gcTime: 0,
  });
  return {
    failed: useQuery(count('failed')),
    missed: useQuery(count('missed')),
    never_sent: useQuery(count('never_sent')),
  };
}

interface Wish {
  readonly bodies: readonly Recovery[];
  readonly total: number;
  readonly isTestedFirst: boolean;
}

/**
 * Enables, tests and recovers, in this order. If nothing is recovered, because the test fails, a request fails or the
 * dialog is closed before, an endpoint that was inactive is paused again.
 */
function useRecovery(endpoint: EndpointWithHealth, setPhase: (phase: Phase) => void) {
  const queries = useQueryClient();
  const changing = useChangeEndpoint(endpoint.id);
  const testing = useTestEndpoint(endpoint.id);
  const recovering = useRecover(endpoint.id);
  const [error, setError] = useState<Error | null>(null);
  const isClosed = useRef(false);
  useEffect(() => {
    isClosed.current = false;
    return () => {
      isClosed.current = true;
    };
  }, []);

  const pauseAgain = async () => {
    try {
      await changing.mutateAsync({ is_active: false });
    } catch (failure) {
      // The dialog may be closed, and has a failure of its own otherwise.
      toastFailure('The endpoint is not paused again', failure);
    }
  };
  const act = async ({ bodies, total, isTestedFirst }: Wish) => {
    let isEnabledHere = false;
    let isAsked = false;
    setError(null);
    try {
      setPhase({ kind: 'sending' });
      if (!endpoint.is_active) {
        await changing.mutateAsync({ is_active: true });
        isEnabledHere = true;
      }
      if (isTestedFirst && bodies.length > 0) {
        setPhase({ kind: 'testing' });
        const { id } = await testing.mutateAsync();
        const test = await tested(queries, endpoint.id, id, isClosed);
        if (isClosed.current || test?.status !== 'delivered') {
          if (isEnabledHere) await pauseAgain();
          setPhase({ kind: 'test-failed', test });
          return;
        }
        setPhase({ kind: 'sending' });
      }
      const recoveries: string[] = [];
      for (const body of bodies) {
        isAsked = true;
        const { id } = await recovering.mutateAsync(body);
        isEnabledHere = false;
        if (id !== null) recoveries.push(id);
      }
      setPhase({ kind: 'sent', recoveries, total });
    } catch (failure) {
      // Pausing would end what a recovery sends, and one may run although its answer was lost.
      if (isEnabledHere && !(isAsked && isUnanswered(failure))) await pauseAgain();
      setError(failure as Error);
      setPhase({ kind: 'choosing' });
    }
  };
  return { act, error };
}

/**
 * Waits for the first attempt of a test, or its end without one.
 * @returns `undefined` if there was neither in time, or the dialog was closed
 */
async function tested(
  queries: QueryClient,
  endpointId: string,
  id: string,
  isClosed: { readonly current: boolean },
): Promise<DeliveryDetail | undefined> {
  const deadlineMs = browserClock.now() + TEST_PATIENCE_MS;
  while (browserClock.now() < deadlineMs && !isClosed.current) {
    const delivery = await queries.query({ ...deliveryQuery(endpointId, id), staleTime: 0 }).catch(undefinedIfNotThere);
    if (delivery !== undefined && (delivery.status !== 'pending' || delivery.attempts_log.length > 0)) return delivery;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return undefined;
}

/** The api may accept a test a little before it shows the delivery. A lost answer says nothing about the test. */
function undefinedIfNotThere(error: unknown): undefined {
  if (isUnanswered(error) || (error instanceof ApiProblem && error.status === 404)) return undefined;
  throw error;
}

/** Whether it is not known what became of a request. */
function isUnanswered(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof ApiProblem && error.status >= 500);
}

/** Shows how far a recovery is, and that it has ended. */
function Outcome({
  endpointId,
  sent: { recoveries: ids, total: counted },
  onClose,
}: {
  readonly endpointId: string;
  readonly sent: Sent;
  readonly onClose: () => void;
}) {
  const { data: endpoint } = useQuery({ ...endpointQuery(endpointId), refetchInterval: 1_000 });
  const recoveries = useQueries({
    queries: ids.map((id) => ({
      queryKey: ['endpoints', endpointId, 'recoveries', id],
      queryFn: () => recovery(endpointId, id),
      refetchInterval: 1_000,
    })),
  });
  const stop = useMutation({
    mutationFn: () => Promise.all(ids.map((id) => stopRecovery(endpointId, id))),
    onError: (error) => {
      toastFailure('Not stopped', error);
    },
  });
  const parts = recoveries.map(({ data }) => data);
  const { scheduled, total, isRunning, text } = recoveryOutcome(parts, counted, endpoint?.health.pending);
  return (
    <Dialog
      open
      onClose={onClose}
      title={ids.length === 0 ? 'Endpoint enabled' : isRunning ? 'Recovering' : 'Recovery ended'}
      description={
        ids.length === 0
          ? undefined
          : isRunning
            ? 'It continues when you close this.'
            : 'What waits is still sent. The list of deliveries shows how each one ends.'
      }
      actions={
        <>
          {isRunning && (
            <Button busy={stop.isPending} onClick={() => stop.mutate()}>
              Stop
            </Button>
          )}
          <Button look="solid" onClick={onClose}>
            {isRunning ? 'Close' : 'Done'}
          </Button>
        </>
      }
    >
      {ids.length > 0 && (
        <div className="stack-tight">
          <progress className="recover-progress" max={total} value={scheduled} aria-label="Scheduled" />
          <p role="status">{text}</p>
          {endpoint?.is_active === false && (
            <Notice tone="bad" title="The endpoint was disabled again">
              Too many attempts failed in a row. Fix the receiver, then recover again.
            </Notice>
          )}
        </div>
      )}
    </Dialog>
  );
}
