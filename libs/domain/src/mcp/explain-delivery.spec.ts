import { describe, expect, it } from '@jest/globals';
import { explainDelivery, type DeliveryCase } from './explain-delivery.js';

describe('an event', () => {
  it.each<[string, DeliveryCase['outcome'], string]>([
    ['has arrived', { status: 'delivered', attempts: 1, lastError: null }, 'delivered'],
    ['waits', { status: 'pending', attempts: 1, lastError: null }, 'waits_for_attempt'],
    ['has failed', { status: 'failed', attempts: 1, lastError: null }, 'failed'],
    ['is older than the endpoint', { answer: 'not_yet_created' }, 'endpoint_is_newer'],
    ['is of a type without subscription', { answer: 'not_subscribed' }, 'not_subscribed'],
    ['is of another widget', { answer: 'out_of_scope' }, 'out_of_widget_scope'],
    ['is left out by the filter', { answer: 'filtered', filter: 'false' }, 'filtered'],
    ['came while the endpoint was inactive', { answer: 'inactive', since: new Date(0) }, 'endpoint_was_inactive'],
    ['was for an endpoint that is deleted', { answer: 'deleted' }, 'endpoint_was_deleted'],
    ['is on its way', { answer: 'pending' }, 'not_routed_yet'],
  ])('%s', (_, outcome, reason) => {
    expect(explainDelivery({ eventType: 'ticket.created', outcome }).reason).toBe(reason);
  });

  it('is a test of another endpoint', () => {
    const { reason } = explainDelivery({ eventType: 'test', outcome: { answer: 'not_subscribed' } });
    expect(reason).toBe('test_of_another_endpoint');
  });

  it('is explained by the filter and the time that count', () => {
    const filtered = explainDelivery({ eventType: 'x', outcome: { answer: 'filtered', filter: 'event.seq > 5' } });
    expect(filtered.text).toContain('event.seq > 5');
    const inactive = explainDelivery({ eventType: 'x', outcome: { answer: 'inactive', since: new Date(0) } });
    expect(inactive.text).toContain('1970-01-01');
  });
});
