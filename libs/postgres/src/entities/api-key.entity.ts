import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ApiKeyId, OrgId } from '#libs/domain';

/** An API key (contract 2.3). Only a hash of its secret is kept. */
@Entity({ name: 'api_keys' })
export class ApiKeyEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'api_keys_pkey' })
  id!: ApiKeyId;

  /** `null` for a service key. */
  @Column({ name: 'org_id', type: 'uuid', nullable: true })
  orgId!: OrgId | null;

  @Column({ type: 'text', nullable: true })
  name!: string | null;

  @Column({ type: 'text', array: true })
  scopes!: string[];

  @Column({ name: 'secret_sha256', type: 'bytea' })
  secretSha256!: Buffer;

  @Column({ name: 'created_at', type: 'timestamptz' })
  createdAt!: Date;

  @Column({ name: 'expires_at', type: 'timestamptz', nullable: true })
  expiresAt!: Date | null;

  @Column({ name: 'revoked_at', type: 'timestamptz', nullable: true })
  revokedAt!: Date | null;

  @Column({ name: 'last_used_at', type: 'timestamptz', nullable: true })
  lastUsedAt!: Date | null;
}
