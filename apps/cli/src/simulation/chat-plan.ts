import { AGENTS, DEPARTMENTS, TOPICS, VISITORS, WIDGETS, type Named } from './chat-people.js';

/** Draws a number from 0 to 1, without 1. */
export type Random = () => number;

/** A step of a chat, and how many seconds after the start it happens. */
export type ChatStep = { readonly afterSeconds: number } & (
  | { readonly kind: 'created' | 'handed_off' | 'abandoned' | 'completed' }
  | { readonly kind: 'transferred'; readonly department: Named }
  | { readonly kind: 'picked_up'; readonly agent: Named }
);

/** A chat from its start to its end. */
export interface ChatPlan {
  readonly conversationId: string;
  readonly widget: Named;
  readonly department: Named;
  readonly subject: string;
  readonly firstMessage: string;
  readonly visitor: {
    readonly id: string;
    readonly name: string;
    readonly email: string;
    readonly verified: boolean;
    readonly locale: string;
    readonly country: string;
  };
  /** In the order of their times. */
  readonly steps: readonly ChatStep[];
}

/** The share of chats that the AI alone answers. */
const ANSWERED_BY_AI = 0.2;
/** The shares of waiting chats that end before an agent comes, and that move to another department meanwhile. */
const ABANDONED = 0.15;
const TRANSFERRED = 0.12;

function pick<T>(random: Random, [first, ...others]: readonly T[]): T {
  const picked = [first, ...others][Math.floor(random() * (others.length + 1))] ?? first;
  if (picked === undefined) throw new RangeError('nothing to pick from');
  return picked;
}

/** Draws a wait, mostly short and sometimes long: exponentially distributed with that mean. */
function waitSeconds(random: Random, mean: number): number {
  return -Math.log(1 - random()) * mean;
}

/** Half of the waits end before the usual first threshold of 60 s; some exceed the second one of 300 s. */
function stepsOf(random: Random, department: Named): readonly ChatStep[] {
  const handedOffAt = 2 + waitSeconds(random, 8);
  const created: ChatStep = { afterSeconds: 0, kind: 'created' };
  if (random() < ANSWERED_BY_AI) return [created, { afterSeconds: handedOffAt * 4, kind: 'completed' }];
  const waited = 3 + waitSeconds(random, 85);
  const leavesQueueAt = handedOffAt + waited;
  const others = DEPARTMENTS.filter(({ id }) => id !== department.id);
  const transfer: readonly ChatStep[] =
    random() < TRANSFERRED
      ? [{ afterSeconds: handedOffAt + waited * random(), kind: 'transferred', department: pick(random, others) }]
      : [];
  const queued: readonly ChatStep[] = [created, { afterSeconds: handedOffAt, kind: 'handed_off' }, ...transfer];
  if (random() < ABANDONED) return [...queued, { afterSeconds: leavesQueueAt, kind: 'abandoned' }];
  return [
    ...queued,
    { afterSeconds: leavesQueueAt, kind: 'picked_up', agent: pick(random, AGENTS) },
    { afterSeconds: leavesQueueAt + 20 + waitSeconds(random, 120), kind: 'completed' },
  ];
}

function idOf(random: Random, prefix: string): string {
  const digits = Array.from({ length: 3 }, () =>
    Math.floor(random() * 2 ** 30)
      .toString(36)
      .padStart(6, '0'),
  );
  return `${prefix}_${digits.join('')}`;
}

/** Plans a plausible chat. The same draws give the same chat. */
export function planChat(random: Random): ChatPlan {
  const department = pick(random, DEPARTMENTS);
  const visitor = pick(random, VISITORS);
  const ascii = visitor.name.normalize('NFD').replaceAll(/[^a-zA-Z ]/g, '');
  return {
    conversationId: idOf(random, 'cnv'),
    widget: pick(random, WIDGETS),
    department,
    ...pick(random, TOPICS),
    visitor: {
      id: idOf(random, 'vis'),
      ...visitor,
      email: `${ascii.toLowerCase().replaceAll(' ', '.')}@example.com`,
      verified: random() < 0.4,
    },
    steps: stepsOf(random, department),
  };
}
