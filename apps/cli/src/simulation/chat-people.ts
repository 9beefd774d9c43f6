/**
 * A widget, department or person of a simulation. They are fixed, so that charts and lists look like those of one
 * company.
 */
export interface Named {
  readonly id: string;
  readonly name: string;
}

export const WIDGETS: readonly Named[] = [
  { id: '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21', name: 'Shop' },
  { id: '6f3f2d0e-9d3b-4d8c-8a5e-2b7b1c9e4a10', name: 'Help center' },
];

export const DEPARTMENTS: readonly Named[] = [
  { id: 'dep_7', name: 'Shipping' },
  { id: 'dep_9', name: 'Returns' },
  { id: 'dep_12', name: 'Billing' },
];

export const AGENTS: readonly Named[] = [
  { id: 'usr_214', name: 'Mara Lindt' },
  { id: 'usr_215', name: 'Tomás Rivera' },
  { id: 'usr_221', name: 'Aiko Tanaka' },
  { id: 'usr_230', name: 'Femi Adeyemi' },
];

export const VISITORS = [
  { name: 'Jonas Weber', locale: 'de-DE', country: 'DE' },
  { name: 'Claire Dubois', locale: 'fr-FR', country: 'FR' },
  { name: 'Priya Nair', locale: 'en-IN', country: 'IN' },
  { name: 'Sam Carter', locale: 'en-US', country: 'US' },
  { name: 'Lucía Gómez', locale: 'es-ES', country: 'ES' },
  { name: 'Noah van Dijk', locale: 'nl-NL', country: 'NL' },
  { name: 'Ines Costa', locale: 'pt-PT', country: 'PT' },
  { name: 'Erik Lund', locale: 'sv-SE', country: 'SE' },
] as const;

export const TOPICS = [
  { subject: 'Where is my parcel?', firstMessage: 'Hello, my order has not arrived.' },
  { subject: 'Wrong size', firstMessage: 'The shoes are too small. Can I change them?' },
  { subject: 'Refund', firstMessage: 'When will I get my money back?' },
  { subject: 'Discount code', firstMessage: 'The code from your newsletter does not work.' },
  { subject: 'Broken on arrival', firstMessage: 'The lamp came without its glass.' },
  { subject: 'Invoice', firstMessage: 'I need an invoice with our VAT number.' },
] as const;
