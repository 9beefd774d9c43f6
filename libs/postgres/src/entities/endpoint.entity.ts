import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DeliverySettings, EndpointId, OrgId, ShownHeaders, WidgetId } from '#libs/domain';

/** `mcp`: an agent's subscription, which only the MCP Events extension shows and changes. */
export type EndpointKind = 'webhook' | 'mcp';

/** A registered webhook endpoint (contract 3.1). Its failure count and last trigger are projections of its attempts. */
@Entity({ name: 'endpoints' })
export class EndpointEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'endpoints_pkey' })
  id!: EndpointId;

  @Column({ type: 'text', default: 'webhook' })
  kind!: EndpointKind;

  @Column({ name: 'org_id', type: 'uuid' })
  orgId!: OrgId;

  @Column({ type: 'text', nullable: true })
  name!: string | null;

  @Column({ type: 'text', nullable: true })
  description!: string | null;

  @Column({ type: 'text' })
  url!: string;

  @Column({ type: 'text', array: true })
  events!: string[];

  @Column({ name: 'widget_ids', type: 'uuid', array: true, nullable: true })
  widgetIds!: WidgetId[] | null;

  /** An expression in CEL that leaves out events; `null` for none. */
  @Column({ type: 'text', nullable: true })
  filter!: string | null;

  @Column({ name: 'is_active', type: 'boolean', default: true })
  isActive!: boolean;

  /** Raised whenever the endpoint is enabled again. */
  @Column({ type: 'integer', default: 1 })
  activation!: number;

  @Column({ name: 'disabled_at', type: 'timestamptz', nullable: true })
  disabledAt!: Date | null;

  @Column({ name: 'disabled_reason', type: 'text', nullable: true })
  disabledReason!: string | null;

  /** The signing secret, encrypted by `SecretCipher`. */
  @Column({ name: 'secret_ciphertext', type: 'bytea' })
  secretCiphertext!: Buffer;

  /** When the secret was last replaced; `null` if it is the first one. */
  @Column({ name: 'secret_changed_at', type: 'timestamptz', nullable: true })
  secretChangedAt!: Date | null;

  /** The previous secret, encrypted, while it signs, too. */
  @Column({ name: 'previous_secret_ciphertext', type: 'bytea', nullable: true })
  previousSecretCiphertext!: Buffer | null;

  /** Until when the previous secret signs or signed; `null` if it stopped at once. */
  @Column({ name: 'previous_secret_until', type: 'timestamptz', nullable: true })
  previousSecretUntil!: Date | null;

  /** When the url was last changed; `null` if it is the first one. */
  @Column({ name: 'url_changed_at', type: 'timestamptz', nullable: true })
  urlChangedAt!: Date | null;

  /** The delivery settings that differ from the defaults; `null` if none does. */
  @Column({ name: 'delivery_settings', type: 'jsonb', nullable: true })
  deliverySettings!: Partial<DeliverySettings> | null;

  /** The additional headers as JSON, encrypted by `SecretCipher`. */
  @Column({ name: 'custom_headers_ciphertext', type: 'bytea', nullable: true })
  customHeadersCiphertext!: Buffer | null;

  @Column({ name: 'custom_headers_shown', type: 'jsonb', nullable: true })
  customHeadersShown!: ShownHeaders | null;

  /** When the delivery settings or the additional headers last changed. */
  @Column({ name: 'delivery_changed_at', type: 'timestamptz', nullable: true })
  deliveryChangedAt!: Date | null;

  /** Since when the endpoint has been ordered without a break; `null` if it is not. */
  @Column({ name: 'ordered_since', type: 'timestamptz', nullable: true })
  orderedSince!: Date | null;

  /** The `orderedSince` of an order that has begun. */
  @Column({ name: 'order_begun', type: 'timestamptz', nullable: true })
  orderBegun!: Date | null;

  /** Whether the settings limit or order the endpoint's attempts. */
  @Column({ name: 'is_paced', type: 'boolean', default: false })
  isPaced!: boolean;

  /** When the events, widgets or filter last changed; `null` if never. Only the version before this one reads it. */
  @Column({ name: 'subscription_changed_at', type: 'timestamptz', nullable: true })
  subscriptionChangedAt!: Date | null;

  /** The seq of the org's latest event when the endpoint was created. The driver returns a `bigint` as text. */
  @Column({ name: 'receives_after_seq', type: 'bigint', default: 0 })
  receivesAfterSeq!: string;

  /** The end of the org's partition of the log when the endpoint was created. The driver returns a `bigint` as text. */
  @Column({ name: 'receives_from_offset', type: 'bigint', nullable: true })
  receivesFromOffset!: string | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}
