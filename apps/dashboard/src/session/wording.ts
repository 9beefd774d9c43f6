/** What the pages call things: in the portal, in the words of the product that it belongs to. */
export interface Wording {
  /** The name of the pages. */
  readonly product: string;
  /** The subject of sentences about what the service does. */
  readonly service: string;
  /** What the reader came in with, and what decides what they may do. */
  readonly access: string;
  readonly howToGetMore: string;
  /** Whether the reader runs the service, and not a product that has it. */
  readonly isOperated: boolean;
}

/** The name of a portal without `PORTAL_NAME`. */
const UNNAMED_PORTAL = 'Events and webhooks';

let wording: Wording = {
  product: 'Gapless',
  service: 'Gapless',
  access: 'Your key',
  howToGetMore: 'Sign in with another key.',
  isOperated: true,
};

export function words(): Wording {
  return wording;
}

/** @param name the name of the product */
export function speakForProduct(name: string | null): void {
  wording = {
    product: name ?? UNNAMED_PORTAL,
    service: name ?? 'This service',
    access: 'This link',
    howToGetMore: `Ask ${name ?? 'the person who gave it to you'} for another link.`,
    isOperated: false,
  };
}
