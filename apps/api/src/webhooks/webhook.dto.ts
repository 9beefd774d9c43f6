import {
  parseWidgetId,
  SIGNATURE_KINDS,
  type ClientCertificate,
  type CustomHeadersChange,
  type DeliverySettings,
  type EndpointAuth,
  type OrderedBy,
  type SignatureKind,
  type WidgetId,
} from '#libs/domain';
import { Checked } from '../http/checked.decorator.js';
import { absentOr, absentOrNull, required } from '../http/member-rules.js';
import {
  changedHeaders,
  clientCertificate,
  endpointAuth,
  eventOrdering,
  goneDisables,
  legacySignature,
  newHeaders,
  numberInFlight,
  previousSequence,
  ratePerSecond,
  retryAfterRespect,
  signatureKinds,
  urgentTypes,
} from './delivery-members.js';
import {
  activity,
  endpointDescription,
  endpointName,
  endpointUrl,
  eventFilter,
  givenSecret,
  someEventTypes,
  widgetIds,
} from './webhook-members.js';

/** The order of an endpoint's events, as requests have it. */
export interface OrderingJson {
  readonly by: OrderedBy;
  readonly batch?: number;
}

/** The members that both bodies of an endpoint have. */
class EndpointMembersDto {
  @Checked(absentOrNull(endpointName))
  readonly name?: string | null;

  @Checked(absentOrNull(endpointDescription))
  readonly description?: string | null;

  @Checked(absentOrNull(widgetIds))
  readonly widget_ids?: readonly string[] | null;

  @Checked(absentOrNull(eventFilter))
  readonly filter?: string | null;

  @Checked(absentOrNull(endpointAuth))
  readonly auth?: EndpointAuth | null;

  @Checked(absentOrNull(clientCertificate))
  readonly client_certificate?: ClientCertificate | null;

  @Checked(absentOr(legacySignature))
  readonly legacy_signature?: boolean;

  @Checked(absentOr(signatureKinds))
  readonly signatures?: readonly SignatureKind[];

  @Checked(absentOr(retryAfterRespect))
  readonly respect_retry_after?: boolean;

  @Checked(absentOr(goneDisables))
  readonly disable_on_gone?: boolean;

  @Checked(absentOrNull(ratePerSecond))
  readonly max_per_second?: number | null;

  @Checked(absentOrNull(numberInFlight))
  readonly max_in_flight?: number | null;

  @Checked(absentOr(eventOrdering))
  readonly ordering?: OrderingJson;

  @Checked(absentOrNull(urgentTypes))
  readonly urgent?: readonly string[] | null;

  @Checked(absentOr(previousSequence))
  readonly previous_sequence?: boolean;
}

/** The body of `POST /external/webhooks` (contract 5.1). */
export class CreateWebhookDto extends EndpointMembersDto {
  @Checked(required(endpointUrl))
  readonly url!: string;

  @Checked(required(someEventTypes))
  readonly events!: readonly string[];

  @Checked(absentOr(givenSecret))
  readonly secret?: string;

  @Checked(absentOrNull(newHeaders))
  readonly headers?: Readonly<Record<string, string>> | null;
}

/**
 * The body of `PATCH /external/webhooks/:id` (contract 5.1). Absent members stay as they are; null clears a member that
 * allows it.
 */
export class UpdateWebhookDto extends EndpointMembersDto {
  @Checked(absentOr(endpointUrl))
  readonly url?: string;

  @Checked(absentOr(someEventTypes))
  readonly events?: readonly string[];

  @Checked(absentOr(activity))
  readonly is_active?: boolean;

  @Checked(absentOrNull(changedHeaders))
  readonly headers?: Readonly<Record<string, string | null>> | null;
}

/** Returns the members that concern delivery, if there are any. */
export function deliveryChangesOf(body: CreateWebhookDto | UpdateWebhookDto): {
  readonly settings?: Partial<DeliverySettings>;
  readonly customHeaders?: CustomHeadersChange;
} {
  const settings: Partial<DeliverySettings> = {
    ...(body.legacy_signature === undefined ? {} : { legacySignature: body.legacy_signature }),
    ...(body.signatures === undefined ? {} : { signatures: inOrder(body.signatures) }),
    ...(body.respect_retry_after === undefined ? {} : { respectRetryAfter: body.respect_retry_after }),
    ...(body.disable_on_gone === undefined ? {} : { disableOnGone: body.disable_on_gone }),
    ...(body.max_per_second === undefined ? {} : { maxPerSecond: body.max_per_second }),
    ...(body.max_in_flight === undefined ? {} : { maxInFlight: body.max_in_flight }),
    ...(body.ordering === undefined ? {} : { ordering: { by: body.ordering.by, batch: body.ordering.batch ?? 1 } }),
    ...(body.urgent === undefined ? {} : { urgent: body.urgent }),
    ...(body.previous_sequence === undefined ? {} : { previousSequence: body.previous_sequence }),
  };
  const customHeaders: CustomHeadersChange = {
    ...(body.headers === undefined ? {} : { headers: body.headers }),
    ...(body.auth === undefined ? {} : { auth: body.auth }),
    ...(body.client_certificate === undefined ? {} : { certificate: body.client_certificate }),
  };
  return {
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(Object.keys(customHeaders).length === 0 ? {} : { customHeaders }),
  };
}

function inOrder(kinds: readonly SignatureKind[]): readonly SignatureKind[] {
  return SIGNATURE_KINDS.filter((kind) => kinds.includes(kind));
}

/** Returns the widgets in canonical spelling, without repeats. */
export function widgetIdsOf(given: readonly string[] | null | undefined): readonly WidgetId[] | null {
  if (given === null || given === undefined) return null;
  return [...new Set(given.flatMap((id) => parseWidgetId(id) ?? []))];
}
