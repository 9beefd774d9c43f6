import type { EndpointId, EventId, OrgId } from '#libs/domain';
import { conversationData } from '../../support/conversations.js';
import type { Random } from '../engine/random.js';
import type { Submitted } from './ledger.js';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const WIDGET = '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21';

export const TICKET_TYPES = ['ticket.created', 'ticket.updated'] as const;

function ulidLike(random: Random): string {
  let text = '';
  for (let at = 0; at < 26; at++) text += CROCKFORD.charAt(random.int(0, 31));
  return text;
}

/** Few, so that several events have the same one. */
const SUBJECTS = 5;

/** Makes the events of a history. */
export class EventSource {
  #made = 0;

  constructor(private readonly random: Random) {}

  newId(): EventId {
    return `evt_${ulidLike(this.random)}` as EventId;
  }

  newEndpointId(): EndpointId {
    return `whe_${ulidLike(this.random)}` as EndpointId;
  }

  ticket(orgId: OrgId): Omit<Submitted, 'acceptedAtMs'> {
    const nth = ++this.#made;
    const event = this.random.pick(TICKET_TYPES);
    return { id: this.newId(), orgId, event, dataJson: `{"id":"tkt_${nth % SUBJECTS}","subject":"Number ${nth}"}` };
  }

  conversation(orgId: OrgId, id: string, change: 'handed_off' | 'picked_up'): Omit<Submitted, 'acceptedAtMs'> {
    const isAnswered = change === 'picked_up';
    const data = {
      ...conversationData(id, { status: isAnswered ? 'active' : 'waiting_for_agent' }),
      ...(isAnswered ? { picked_up_by: { id: 'usr_1', name: 'Mara' } } : {}),
    };
    const event = `conversation.${change}`;
    return { id: this.newId(), orgId, event, dataJson: JSON.stringify(data) };
  }
}

/** The JSON text of an event as it is submitted to the api, or produced to the inbox. */
export function submittedJson({ id, orgId, event, dataJson }: Omit<Submitted, 'acceptedAtMs'>): string {
  return `{"id":"${id}","event":"${event}","org_id":"${orgId}","widget_id":"${WIDGET}","data":${dataJson}}`;
}
