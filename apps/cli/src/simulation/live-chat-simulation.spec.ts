import { describe, expect, it } from '@jest/globals';
import { isEventType } from '#libs/domain';
import { INGEST_LIMITS, parseSubmission } from '#libs/event-validation';
import { drawsFrom } from '../../../../test/support/sequence.js';
import { LiveChatSimulation, type Happening } from './live-chat-simulation.js';

const START_MS = Date.UTC(2026, 5, 1, 12);
const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';

function aSimulation(seed = 1, chats = 200): LiveChatSimulation {
  const draw = drawsFrom(seed);
  const options = { chatsPerMinute: 30, chats, speed: 1, dashboardUrl: 'https://dashboard.example.com' };
  return new LiveChatSimulation(options, () => draw(1_000_000) / 1_000_000, START_MS);
}

function run(simulation: LiveChatSimulation): readonly Happening[] {
  const happenings: Happening[] = [];
  for (let nextAtMs = simulation.nextAtMs; nextAtMs !== undefined; nextAtMs = simulation.nextAtMs) {
    happenings.push(...simulation.advance(nextAtMs));
  }
  return happenings;
}

function livesIn(happenings: readonly Happening[]): readonly (readonly string[])[] {
  const lives = new Map<object, string[]>();
  for (const { chat, event } of happenings) {
    lives.set(chat, [...(lives.get(chat) ?? []), event.replace('conversation.', '')]);
  }
  return [...lives.values()];
}

/** What chats go through, from the start to the end. */
const LIFE = /^created (completed|handed_off (transferred )?(abandoned|picked_up completed))$/;

describe('a simulation of live chat', () => {
  it('takes each chat from its start to its end, and shows every way to get there', () => {
    const lives = livesIn(run(aSimulation())).map((life) => life.join(' '));
    expect(lives).toHaveLength(200);
    for (const life of lives) expect(life).toMatch(LIFE);
    expect(new Set(lives)).toEqual(
      new Set([
        'created completed',
        'created handed_off picked_up completed',
        'created handed_off abandoned',
        'created handed_off transferred picked_up completed',
        'created handed_off transferred abandoned',
      ]),
    );
  });

  it('submits what the service accepts (contract 3.3)', () => {
    const events = run(aSimulation()).map(({ event, widget_id, data, atMs }) => {
      expect(isEventType(event)).toBe(true);
      return { event, widget_id, data, org_id: ORG, occurred_at: new Date(atMs).toISOString() };
    });
    for (let from = 0; from < events.length; from += 500) {
      const body = Buffer.from(JSON.stringify({ events: events.slice(from, from + 500) }));
      const context = { orgOfKey: null, nowMs: START_MS + 3_600_000, limits: INGEST_LIMITS };
      expect(parseSubmission(body, context).length).toBeGreaterThan(0);
    }
  });

  it('has things happen in the order of their times, and counts who waits', () => {
    const happenings = run(aSimulation());
    expect(happenings.map(({ atMs }) => atMs)).toEqual(happenings.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    let waiting = 0;
    for (const { event, data } of happenings) {
      if (event === 'conversation.handed_off') waiting++;
      if (event === 'conversation.picked_up' || event === 'conversation.abandoned') waiting--;
      expect((data as { conversation: { queue_depth: number } }).conversation.queue_depth).toBe(waiting);
    }
    expect(waiting).toBe(0);
  });

  it('has chats that wait past both of the usual thresholds, and chats that do not', () => {
    const waits = run(aSimulation(2, 500))
      .filter(({ event }) => /picked_up|abandoned/.test(event))
      .map(({ data }) => (data as { conversation: { waited_seconds: number } }).conversation.waited_seconds);
    expect(waits.filter((wait) => wait < 60).length).toBeGreaterThan(waits.length / 4);
    expect(waits.filter((wait) => wait >= 60).length).toBeGreaterThan(waits.length / 4);
    expect(waits.some((wait) => wait >= 300)).toBe(true);
  });

  it('ends the chats that are open when it has to end, and starts no more', () => {
    const simulation = aSimulation();
    const happened = [...simulation.advance(START_MS + 120_000)];
    expect(simulation.waiting).toBeGreaterThan(0);
    happened.push(...simulation.end(START_MS + 120_000));
    expect([simulation.waiting, simulation.nextAtMs]).toEqual([0, undefined]);
    for (const life of livesIn(happened)) expect(['abandoned', 'completed']).toContain(life.at(-1));
  });
});
