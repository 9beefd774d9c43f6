import { Injectable } from '@nestjs/common';
import { CelFilters, checkFilter, checkSyntax } from '#libs/event-filter';
import { filteredReception, isReceived, mcpError, subscriptionFilter, type ContentArguments } from '#libs/domain';
import { filterProblemText } from '../webhooks/check-event-filter.js';
import { protocolError } from './refusal.js';

/** The filters of agents that poll and stream. */
@Injectable()
export class AgentFilters {
  /** One of their own: agents may send any number of expressions, and those of endpoints have to stay compiled. */
  readonly #filters = new CelFilters();

  /**
   * Returns the expression of a subscription to the type; `null` for none.
   * @throws ProtocolError `InvalidParams`
   */
  expression(name: string, given: ContentArguments): string | null {
    const { filter } = given;
    const problem = filter === undefined ? undefined : checkFilter(filter, [name]);
    if (filter !== undefined && problem !== undefined) throw refusal(`filter: ${filterProblemText(filter, problem)}`);
    const expression = subscriptionFilter(name, given);
    if (expression === null || expression === filter || checkSyntax(expression) === undefined) return expression;
    throw refusal('filter is too long to be used with subject.');
  }

  /** Whether a subscription with the expression has the event: always if the expression has no answer. */
  selects(expression: string | null, envelope: Buffer): boolean {
    return expression === null || isReceived(filteredReception(expression, envelope, this.#filters));
  }
}

function refusal(detail: string) {
  return protocolError(mcpError('InvalidParams', detail));
}
