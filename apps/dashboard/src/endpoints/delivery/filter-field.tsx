import { ApiProblem } from '../../api/api-problem.js';
import type { FilterTest, FilterTestResult } from '../../api/resources.js';
import { useLack } from '../../session/use-session.js';
import { Button } from '../../ui/button.js';
import { TextArea } from '../../ui/field.js';
import { FailureNotice } from '../../ui/notice.js';
import { Badge, type Tone } from '../../ui/status-badge.js';
import { useTestFilter } from './test-filter.js';

interface FilterFieldProps {
  readonly events: ReadonlySet<string>;
  readonly filter: string;
  readonly onChange: (filter: string) => void;
  /** The problem that the api found with the filter that was submitted. */
  readonly problem: string | undefined;
}

/** An expression in CEL, and what it does with recent events. */
export function FilterField({ events, filter, onChange, problem }: FilterFieldProps) {
  const testing = useTestFilter();
  const lack = useLack('events:read');
  const { error } = testing;
  const refusal = error instanceof ApiProblem ? error.problemOf('filter') : undefined;
  return (
    <>
      <TextArea
        label="Filter"
        rows={2}
        className="mono"
        spellCheck={false}
        maxLength={2_000}
        placeholder='event.data.priority == "urgent"'
        value={filter}
        onChange={(event) => {
          testing.reset();
          onChange(event.target.value);
        }}
        hint="An expression in CEL. Events for which it is false are not pushed. They stay in the feed."
        error={refusal ?? problem}
      />
      <div className="filter-test">
        <Button
          busy={testing.isPending}
          reason={lack ?? reasonAgainst(filter, events)}
          onClick={() => {
            testing.mutate({ filter, events: [...events] as NonNullable<FilterTest['events']> });
          }}
        >
          Try it on recent events
        </Button>
        {error !== null && refusal === undefined && <FailureNotice error={error} />}
        {testing.data !== undefined && <Tested result={testing.data} />}
      </div>
    </>
  );
}

function reasonAgainst(filter: string, events: ReadonlySet<string>): string | undefined {
  if (events.size === 0) return 'Choose event types first.';
  return filter.trim() === '' ? 'Write a filter first.' : undefined;
}

const RESULTS: Readonly<Record<FilterTestResult['events'][number]['result'], { tone: Tone; text: string }>> = {
  matched: { tone: 'good', text: 'Pushed' },
  left_out: { tone: 'off', text: 'Not pushed' },
  failed: { tone: 'wait', text: 'Pushed: no answer' },
};

/** The most events that are listed. The counts are of all. */
const LISTED = 20;

function Tested({ result }: { readonly result: FilterTestResult }) {
  const { tested, matched, left_out: leftOut, failed, events } = result;
  if (tested === 0) return <p role="status">There are no events of these types yet.</p>;
  return (
    <div>
      <p role="status">
        Of the newest {tested} events, {matched} match, {leftOut} are left out, and {failed} are pushed because the
        filter has no answer.
      </p>
      <ul className="filter-test-events">
        {events.slice(0, LISTED).map(({ id, seq, event, result: kind, reason }) => (
          <li key={id}>
            <Badge tone={RESULTS[kind].tone}>{RESULTS[kind].text}</Badge> <span className="mono">#{seq}</span> {event}
            {reason !== null && `: ${reason}`}
          </li>
        ))}
      </ul>
    </div>
  );
}
