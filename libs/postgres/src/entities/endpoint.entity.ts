import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EndpointId, OrgId, WidgetId } from '#libs/domain';

/** A registered webhook endpoint (contract 3.1). Its failure count and last trigger are projections of its attempts. */
@Entity({ name: 'endpoints' })
export class EndpointEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'endpoints_pkey' })
  id!: EndpointId;

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

  /** `null` while it is the one that the endpoint was created with. */
  @Column({ name: 'secret_changed_at', type: 'timestamptz', nullable: true })
  secretChangedAt!: Date | null;

  /** The secret before it, encrypted, as long as it signs, too. */
  @Column({ name: 'previous_secret_ciphertext', type: 'bytea', nullable: true })
  previousSecretCiphertext!: Buffer | null;

  /** Until when the secret before it signs, or did; `null` if it stopped at once. */
  @Column({ name: 'previous_secret_until', type: 'timestamptz', nullable: true })
  previousSecretUntil!: Date | null;

  /** `null` while it is the one that the endpoint was created with. */
  @Column({ name: 'url_changed_at', type: 'timestamptz', nullable: true })
  urlChangedAt!: Date | null;

  /** The org's latest event when the endpoint was created; `bigint` comes as text. */
  @Column({ name: 'receives_after_seq', type: 'bigint', default: 0 })
  receivesAfterSeq!: string;

  /** Where the org's partition of the log ended when the endpoint was created; `bigint` comes as text. */
  @Column({ name: 'receives_from_offset', type: 'bigint', nullable: true })
  receivesFromOffset!: string | null;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;
}
