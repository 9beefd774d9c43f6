import { parseWidgetId, type WidgetId } from '#libs/domain';
import { Checked } from '../http/checked.decorator.js';
import { absentOr, absentOrNull, required } from '../http/member-rules.js';
import {
  activity,
  endpointDescription,
  endpointName,
  endpointUrl,
  someEventTypes,
  widgetIds,
} from './webhook-members.js';

/** The body of `POST /external/webhooks` (contract 5.1). */
export class CreateWebhookDto {
  @Checked(required(endpointUrl))
  readonly url!: string;

  @Checked(required(someEventTypes))
  readonly events!: readonly string[];

  @Checked(absentOrNull(endpointName))
  readonly name?: string | null;

  @Checked(absentOrNull(endpointDescription))
  readonly description?: string | null;

  @Checked(absentOrNull(widgetIds))
  readonly widget_ids?: readonly string[] | null;
}

/**
 * The body of `PATCH /external/webhooks/:id` (contract 5.1). Absent members stay as they are; null clears a member that
 * allows it.
 */
export class UpdateWebhookDto {
  @Checked(absentOr(endpointUrl))
  readonly url?: string;

  @Checked(absentOr(someEventTypes))
  readonly events?: readonly string[];

  @Checked(absentOrNull(endpointName))
  readonly name?: string | null;

  @Checked(absentOrNull(endpointDescription))
  readonly description?: string | null;

  @Checked(absentOrNull(widgetIds))
  readonly widget_ids?: readonly string[] | null;

  @Checked(absentOr(activity))
  readonly is_active?: boolean;
}

/** Returns the widgets in canonical spelling, without repeats. */
export function widgetIdsOf(given: readonly string[] | null | undefined): readonly WidgetId[] | null {
  if (given === null || given === undefined) return null;
  return [...new Set(given.flatMap((id) => parseWidgetId(id) ?? []))];
}
