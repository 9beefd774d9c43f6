import type { Outcome } from './run-fault.js';

export interface Row {
  readonly fault: string;
  readonly outcome: Outcome;
}

const HEADINGS = [
  'fault',
  'acknowledged',
  'lost',
  'repeated',
  'gaps',
  'mismatches',
  'not pushed',
  'inversions',
  'alerts',
  'pushed twice',
  'by agents',
  'skipped',
  'longest stall',
  '',
];

const LEGEND = `acknowledged   events that the service answered 202 for
lost           of those, what the log or the feed does not have; has to be 0
repeated       ids that the log has more than once; has to be 0
gaps           seqs that the log leaves out; has to be 0
mismatches     events of which submission, log, feed and push differ in a byte; has to be 0
not pushed     events that an endpoint or an agent never got; has to be 0
inversions     events that an ordered endpoint accepted for the first time after a later one; has to be 0
alerts         alerts of waiting chats that are missing, repeated or wrong; has to be 0
pushed twice   events that an endpoint got and accepted again; allowed, with the same id
by agents      events that subscribers by MCP got; each cursor was safe, and none got notice of a gap
skipped        byte-identical repeats in the log that its readers skip; allowed
longest stall  the longest time that an endpoint or a reader of a feed got nothing new`;

function cellsOf({ fault, outcome }: Row): readonly string[] {
  switch (outcome.kind) {
    case 'skipped':
    case 'failed':
      return [fault, ...HEADINGS.slice(2).map(() => ''), `${outcome.kind}: ${outcome.reason}`];
    case 'held':
    case 'broken': {
      const { acknowledged, lost, repeated, gaps, mismatches, unpushed, inversions } = outcome.verdict;
      const { alerts, pushedTwice, byAgents, skipped } = outcome.verdict;
      const counts = [
        acknowledged,
        lost,
        repeated,
        gaps,
        mismatches,
        unpushed,
        inversions,
        alerts,
        pushedTwice,
        byAgents,
        skipped,
      ].map(String);
      return [fault, ...counts, `${(outcome.longestStallMs / 1_000).toFixed(1)} s`, endOf(outcome)];
    }
  }
}

function endOf({ kind, verdict }: Outcome & { readonly kind: 'held' | 'broken' }): string {
  return verdict.removed === 0 ? kind : `${kind}; the fault itself took ${verdict.removed} away`;
}

/** The faults, a row each, and what their columns mean. */
export function reportTable(rows: readonly Row[]): string {
  const cells = [HEADINGS, ...rows.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((row) => widthOf(row, column))));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 || column === HEADINGS.length - 1 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
  return [...lines, '', LEGEND].join('\n');
}

/** The last column's words need no room beside them. */
function widthOf(row: readonly string[], column: number): number {
  return column === HEADINGS.length - 1 ? 0 : (row[column]?.length ?? 0);
}

/** Returns the problems of the fault, a line each; none if there are none. */
export function problemLines({ fault, outcome }: Row): readonly string[] {
  return outcome.kind === 'broken' ? outcome.problems.map((problem) => `${fault}: ${problem}`) : [];
}
