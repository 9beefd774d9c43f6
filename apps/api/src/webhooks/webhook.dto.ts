import { IsOptional } from 'class-validator';
import { parseWidgetId, type WidgetId } from '#libs/domain';
import { Checked } from '../http/checked.decorator.js';
import { aBoolean, absentOr, aString, aTextOf, required } from '../http/member-checks.js';
import { someEventTypes, widgetIds } from './webhook-members.js';

const MAX_NAME_LENGTH = 120;
const MAX_DESCRIPTION_LENGTH = 1_000;

/** The body of `POST /external/webhooks` (contract 5.1). The url's own rules are `EndpointUrlCheck`'s. */
export class CreateWebhookDto {
  @Checked(required(aString))
  readonly url!: string;

  @Checked(required(someEventTypes))
  readonly events!: readonly string[];

  @IsOptional()
  @Checked(aTextOf(MAX_NAME_LENGTH))
  readonly name?: string | null;

  @IsOptional()
  @Checked(aTextOf(MAX_DESCRIPTION_LENGTH))
  readonly description?: string | null;

  @IsOptional()
  @Checked(widgetIds)
  readonly widget_ids?: readonly string[] | null;
}

/** The body of `PATCH /external/webhooks/:id`: what is absent stays; null clears what may be null (contract 5.1). */
export class UpdateWebhookDto {
  @Checked(absentOr(aString))
  readonly url?: string;

  @Checked(absentOr(someEventTypes))
  readonly events?: readonly string[];

  @IsOptional()
  @Checked(aTextOf(MAX_NAME_LENGTH))
  readonly name?: string | null;

  @IsOptional()
  @Checked(aTextOf(MAX_DESCRIPTION_LENGTH))
  readonly description?: string | null;

  @IsOptional()
  @Checked(widgetIds)
  readonly widget_ids?: readonly string[] | null;

  @Checked(absentOr(aBoolean))
  readonly is_active?: boolean;
}

/** The widgets in their one spelling, each once. */
export function widgetIdsOf(given: readonly string[] | null | undefined): readonly WidgetId[] | null {
  if (given === null || given === undefined) return null;
  return [...new Set(given.flatMap((id) => parseWidgetId(id) ?? []))];
}
