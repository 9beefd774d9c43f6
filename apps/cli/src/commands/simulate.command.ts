import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { parseOrgId, type Clock, type OrgId } from '#libs/domain';
import { Identifiers, type Environment } from '#libs/runtime';
import { LiveChatSimulation, type Happening } from '../simulation/live-chat-simulation.js';
import { GaplessClient } from './gapless-client.js';

/** The most events of a request (contract 5.6). */
const MAX_EVENTS = 500;
const DEFAULT_CHATS_PER_MINUTE = 12;
/** How many different numbers `random` can draw. */
const DRAWS = 2 ** 47;
const PER_MINUTE: Readonly<Record<string, number>> = { s: 60, m: 1, h: 1 / 60 };

interface SimulateFlags {
  readonly org?: OrgId;
  readonly rate: number;
  readonly chats?: number;
  readonly speed: number;
}

/** The environment of a simulation. */
export interface SimulateContext {
  readonly clock: Clock;
  readonly print: (line: string) => void;
  /** Returns a signal that ends the simulation when it is aborted. Called once there is something to interrupt. */
  readonly interruption: () => AbortSignal;
}

/**
 * `simulate live-chat`: simulates plausible chats, and submits their events as a product service does (contract 5.6).
 */
export function simulateCommand(context: SimulateContext, environment: Environment = process.env): Command {
  const liveChat = new Command('live-chat')
    .description('live chats that wait, get answered or abandoned, and end; Ctrl-C ends the open ones')
    .option('--org <uuid>', 'their organization; default: the demo organization', readOrg)
    .option('--rate <n>', 'chats a minute, or n/s, n/m, n/h', readRate, DEFAULT_CHATS_PER_MINUTE)
    .option('--chats <n>', 'how many in total; default: no limit', readPositive)
    .option('--speed <n>', 'how many times faster than real time', readPositive, 1)
    .action((flags: SimulateFlags) => simulateLiveChat(context, flags, environment));
  return new Command('simulate')
    .description('emit invented events to the Gapless that npm start runs here')
    .addCommand(liveChat);
}

async function simulateLiveChat(
  { clock, print, interruption }: SimulateContext,
  { org, rate, chats = Infinity, speed }: SimulateFlags,
  environment: Environment,
): Promise<void> {
  const client = await GaplessClient.connectAsService(environment);
  const signal = interruption();
  const orgId = org ?? client.demoOrgId;
  const dashboardUrl = 'https://dashboard.example.com';
  const random = () => randomInt(DRAWS) / DRAWS;
  const simulation = new LiveChatSimulation({ chatsPerMinute: rate, chats, speed, dashboardUrl }, random, clock.now());
  print(`Chats of org ${orgId}, ${rate * speed} a minute; Ctrl-C ends them.`);
  const identifiers = new Identifiers(clock);
  const counts = new Map<string, number>();
  const happen = async (happenings: readonly Happening[]) => {
    await submit(client, identifiers, orgId, happenings);
    for (const happening of happenings) {
      counts.set(happening.event, (counts.get(happening.event) ?? 0) + 1);
      print(lineOf(happening, simulation.waiting));
    }
  };
  for (let nextAtMs = simulation.nextAtMs; nextAtMs !== undefined; nextAtMs = simulation.nextAtMs) {
    const isInTime = await untilOrAborted(nextAtMs - clock.now(), signal);
    if (!isInTime) break;
    await happen(simulation.advance(clock.now()));
  }
  await happen(simulation.end(clock.now()));
  print(`Ended: ${[...counts].map(([event, count]) => `${count} ${event.replace('conversation.', '')}`).join(', ')}`);
}

/** @returns whether the time has passed without the signal being aborted */
async function untilOrAborted(waitMs: number, signal: AbortSignal): Promise<boolean> {
  return delay(Math.max(0, waitMs), true, { signal }).catch(() => false);
}

async function submit(
  client: GaplessClient,
  identifiers: Identifiers,
  orgId: OrgId,
  happenings: readonly Happening[],
): Promise<void> {
  for (let from = 0; from < happenings.length; from += MAX_EVENTS) {
    const events = happenings.slice(from, from + MAX_EVENTS).map(({ event, widget_id, data, atMs }) => {
      const id = identifiers.eventId();
      const occurred_at = new Date(atMs).toISOString();
      return { id, json: JSON.stringify({ id, event, occurred_at, org_id: orgId, widget_id, data }) };
    });
    await client.submit(events);
  }
}

function lineOf({ event, chat, atMs }: Happening, waiting: number): string {
  const { conversationId, visitor, subject, department } = chat.plan;
  const what = event.replace('conversation.', '').padEnd('transferred'.length);
  const who = `${visitor.name}, ${department.name}: ${subject}`;
  return [new Date(atMs).toISOString(), what, conversationId, who, `(${waiting} waiting)`].join('  ');
}

function readOrg(text: string): OrgId {
  const orgId = parseOrgId(text);
  if (orgId === undefined) throw new InvalidArgumentError('expected a UUID');
  return orgId;
}

function readPositive(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('expected a number above 0');
}

/** Returns the chats per minute. */
function readRate(text: string): number {
  const [, count = '', unit = 'm'] = /^([\d.]+)(?:\/([smh]))?$/.exec(text) ?? [];
  return readPositive(count) * (PER_MINUTE[unit] ?? 1);
}
