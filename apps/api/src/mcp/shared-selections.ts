import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { eventAt, eventPlaces } from '../events/feed-page.presenter.js';
import { AgentFilters } from './agent-filters.js';

/** After so many evaluations, other work of the thread runs. */
const EVALUATED_AT_ONCE = 100;

/** Expressions that are evaluated together. */
interface Round {
  /** Where the events begin that each expression selects. */
  readonly places: Map<string, number[]>;
  readonly ended: Promise<void>;
}

/** A page that streams share. */
interface SharedPage {
  readonly rounds: Map<string, Round>;
  /** The round that has not begun. */
  next: Round | null;
}

/**
 * Selects events of pages that streams share. An expression is evaluated once for each event of a page, however many
 * streams have it. Expressions that come together share the parsed events.
 */
@Injectable()
export class SharedSelections {
  readonly #pages = new WeakMap<Buffer, SharedPage>();

  constructor(private readonly filters: AgentFilters) {}

  /**
   * Returns where the events begin that the expression selects.
   * @param expression `null` for all events
   * @param text of a page, the same object for all streams that share the page
   */
  async places(expression: string | null, text: Buffer): Promise<readonly number[]> {
    if (expression === null || text.length === 0) return [...eventPlaces(text)];
    const page = this.#pages.get(text) ?? { rounds: new Map<string, Round>(), next: null };
    this.#pages.set(text, page);
    const round = page.rounds.get(expression) ?? this.#join(page, text, expression);
    await round.ended;
    return round.places.get(expression) ?? [];
  }

  #join(page: SharedPage, text: Buffer, expression: string): Round {
    if (page.next === null) {
      const places = new Map<string, number[]>();
      page.next = { places, ended: this.#evaluate(page, text, places) };
    }
    page.next.places.set(expression, []);
    page.rounds.set(expression, page.next);
    return page.next;
  }

  async #evaluate(page: SharedPage, text: Buffer, places: Round['places']): Promise<void> {
    // One event wakes many streams, and they ask in the same moment.
    await setImmediate();
    page.next = null;
    let evaluated = 0;
    for (const at of eventPlaces(text)) {
      const envelope = Buffer.from(eventAt(text, at).envelope);
      for (const [expression, selected] of places) {
        if (++evaluated % EVALUATED_AT_ONCE === 0) await setImmediate();
        if (this.filters.selects(expression, envelope)) selected.push(at);
      }
    }
  }
}
