import { planChat, type ChatStep, type Random } from './chat-plan.js';
import { SimulatedChat, type ChatEvent } from './simulated-chat.js';

/** A planned step of a chat, and its time. */
interface Due {
  readonly atMs: number;
  readonly chat: SimulatedChat;
  readonly step: ChatStep;
}

/** An event of the simulation, with its chat. */
export interface Happening extends ChatEvent {
  readonly chat: SimulatedChat;
  readonly atMs: number;
}

export interface LiveChatOptions {
  readonly chatsPerMinute: number;
  /** How many chats are started in total. */
  readonly chats: number;
  /** How much faster than real time the simulation runs. */
  readonly speed: number;
  /** The prefix of the conversations' urls. */
  readonly dashboardUrl: string;
}

/** Simulates chats that start, wait and end. It has no clock: its caller passes the time. */
export class LiveChatSimulation {
  #agenda: Due[] = [];
  #started = 0;
  #nextStartAtMs: number;
  readonly #open = new Set<SimulatedChat>();

  constructor(
    private readonly options: LiveChatOptions,
    private readonly random: Random,
    startMs: number,
  ) {
    this.#nextStartAtMs = startMs;
  }

  /** When the next step is due; `undefined` when all chats are over. */
  get nextAtMs(): number | undefined {
    const startAtMs = this.#started < this.options.chats ? this.#nextStartAtMs : Infinity;
    const next = Math.min(startAtMs, this.#agenda[0]?.atMs ?? Infinity);
    return next === Infinity ? undefined : next;
  }

  /** How many chats wait for an agent. */
  get waiting(): number {
    return [...this.#open].filter(({ phase }) => phase === 'waiting').length;
  }

  /** Takes the steps that are due, in order, and returns their events. */
  advance(nowMs: number): readonly Happening[] {
    const happenings: Happening[] = [];
    for (;;) {
      while (this.#started < this.options.chats && this.#nextStartAtMs <= nowMs) this.#start();
      const [due] = this.#agenda;
      if (due === undefined || due.atMs > nowMs) return happenings;
      this.#agenda.shift();
      happenings.push(this.#take(due));
    }
  }

  /** Ends all open chats: waiting ones are abandoned, the others completed. */
  end(nowMs: number): readonly Happening[] {
    this.#agenda = [];
    this.#started = this.options.chats;
    return [...this.#open].map((chat) => this.#take({ atMs: nowMs, chat, step: chat.end() }));
  }

  #start(): void {
    const plan = planChat(this.random);
    const chat = new SimulatedChat(plan, this.options.dashboardUrl);
    const startMs = this.#nextStartAtMs;
    const steps = plan.steps.map((step) => ({
      atMs: startMs + (step.afterSeconds * 1_000) / this.options.speed,
      chat,
      step,
    }));
    this.#agenda = [...this.#agenda, ...steps].toSorted((one, other) => one.atMs - other.atMs);
    this.#started++;
    // Visitors come at random: the times between them are exponentially distributed.
    const meanMs = 60_000 / this.options.chatsPerMinute / this.options.speed;
    this.#nextStartAtMs = startMs - Math.log(1 - this.random()) * meanMs;
  }

  #take({ atMs, chat, step }: Due): Happening {
    const others = [...this.#open].filter((one) => one !== chat && one.phase === 'waiting').length;
    const event = chat.take(step, atMs, others);
    if (chat.phase === 'over') this.#open.delete(chat);
    else this.#open.add(chat);
    return { ...event, chat, atMs };
  }
}
