export const TICKET = { event: 'ticket.created', data: { id: 'tkt_1', subject: 'Where is my parcel?' } };

export const tickets = (count: number) => Array.from({ length: count }, () => TICKET);
