import type { NewEndpoint } from '../api/resources.js';
import type { DeliveryChange } from './delivery/delivery-draft.js';

/** The values of the form: the initial ones, and those that are submitted. */
export type EndpointDraft = Pick<NewEndpoint, 'url' | 'events'> & {
  readonly name: string | null;
  readonly description: string | null;
  readonly widget_ids: string[] | null;
};

/** The values that are submitted. Delivery settings that were not changed are missing. */
export type SubmittedEndpoint = EndpointDraft & DeliveryChange;

/** Returns the members that differ from the initial ones. What others change meanwhile stays as they set it. */
export function endpointChange(draft: EndpointDraft, initial: EndpointDraft): Partial<EndpointDraft> {
  return {
    ...(draft.url === initial.url ? {} : { url: draft.url }),
    ...(draft.name === textOf(initial.name) ? {} : { name: draft.name }),
    ...(draft.description === textOf(initial.description) ? {} : { description: draft.description }),
    ...(hasSame(draft.events, initial.events) ? {} : { events: draft.events }),
    ...(hasSame(draft.widget_ids, initial.widget_ids) ? {} : { widget_ids: draft.widget_ids }),
  };
}

/** Returns the text without white space around it; null if that is all. */
export function textOf(text: string | null): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
}

/** The order does not matter. Null is not the same as an empty list. */
function hasSame(some: readonly string[] | null, others: readonly string[] | null): boolean {
  return JSON.stringify(some?.toSorted()) === JSON.stringify(others?.toSorted());
}
