import type { DeliveryId, EndpointId, OrgId, Seq } from '#libs/domain';

/** One difference that `verify` found. */
export type Difference =
  | { readonly kind: 'unreadable'; readonly place: string }
  | { readonly kind: 'gap'; readonly org_id: OrgId; readonly expected: Seq; readonly seq: Seq; readonly place: string }
  | { readonly kind: 'repeated_id'; readonly org_id: OrgId; readonly seq: Seq; readonly id: string }
  | { readonly kind: 'second_partition'; readonly org_id: OrgId; readonly place: string }
  | { readonly kind: 'repeat_differs'; readonly org_id: OrgId; readonly seq: Seq; readonly place: string }
  | { readonly kind: 'feed'; readonly org_id: OrgId; readonly seq: Seq; readonly columns: readonly string[] }
  | { readonly kind: 'feed_has_more'; readonly org_id: OrgId; readonly rows: number }
  | { readonly kind: 'head'; readonly org_id: OrgId; readonly head: number | null; readonly last_seq: Seq }
  | {
      readonly kind: 'delivery';
      readonly delivery_id: DeliveryId;
      readonly org_id: OrgId;
      readonly seq: Seq;
      readonly columns: readonly string[];
    }
  | {
      readonly kind: 'delivery_count';
      readonly endpoint_id: EndpointId;
      readonly rows: number;
      readonly expected: number;
    }
  | { readonly kind: 'behind' | 'ahead'; readonly projection: string; readonly place: string; readonly at: number };

/** The difference in words. */
export function differenceText(difference: Difference): string {
  switch (difference.kind) {
    case 'unreadable':
      return `${difference.place} is not a record that the sequencer wrote`;
    case 'gap':
      return `org ${difference.org_id}: the log has seq ${difference.seq} instead of ${difference.expected} (${difference.place})`;
    case 'repeated_id':
      return `org ${difference.org_id}: seq ${difference.seq} has the id ${difference.id}, which an earlier event has`;
    case 'second_partition':
      return `org ${difference.org_id}: its events are in more than one partition (${difference.place})`;
    case 'repeat_differs':
      return `org ${difference.org_id}: the log repeats seq ${difference.seq} with other bytes (${difference.place})`;
    case 'feed':
      return difference.columns[0] === 'row'
        ? `org ${difference.org_id}: seq ${difference.seq} is in the log and not in the feed`
        : `org ${difference.org_id}: seq ${difference.seq} has another ${difference.columns.join(', ')} in the feed than in the log`;
    case 'feed_has_more':
      return `org ${difference.org_id}: the feed has ${difference.rows} events that the log lacks`;
    case 'head':
      return `org ${difference.org_id}: the feed's head is ${difference.head ?? 'missing'}, the log's is ${difference.last_seq}`;
    case 'delivery':
      return difference.columns[0] === 'row'
        ? `delivery ${difference.delivery_id} (org ${difference.org_id}, seq ${difference.seq}) is in the facts and not in the delivery log`
        : `delivery ${difference.delivery_id} (org ${difference.org_id}, seq ${difference.seq}) has another ${difference.columns.join(', ')} than the facts`;
    case 'delivery_count':
      return `endpoint ${difference.endpoint_id}: the delivery log has ${difference.rows} deliveries, the facts have ${difference.expected}`;
    case 'behind':
      return `the ${difference.projection} projection is at ${difference.at} and does not reach ${difference.place}`;
    case 'ahead':
      return `the ${difference.projection} projection is at ${difference.at}, but the log ends at ${difference.place}: run repair`;
  }
}

const SHOWN = 10;

/** Counts every difference, and keeps the first ten. */
export class Differences {
  readonly first: Difference[] = [];
  count = 0;

  add(difference: Difference): void {
    this.count++;
    if (this.first.length < SHOWN) this.first.push(difference);
  }

  /** Returns the first ones and how many more there are, in words. */
  lines(): readonly string[] {
    const lines = this.first.map((difference) => `- ${differenceText(difference)}`);
    if (this.count > this.first.length) lines.push(`… and ${this.count - this.first.length} more`);
    return lines;
  }
}
