import { SetMetadata } from '@nestjs/common';
import type { ApiKeyScope } from '#libs/postgres';

/** The scope that an operation requires of the key; `any` accepts every valid key. */
export type KeyRequirement = readonly ApiKeyScope[] | 'any';

export const KEY_REQUIREMENT = Symbol('KeyRequirement');

/** Opens the operation to keys with all of these scopes. */
export const RequireScope = (...scopes: readonly [ApiKeyScope, ...(readonly ApiKeyScope[])]) =>
  SetMetadata(KEY_REQUIREMENT, scopes satisfies KeyRequirement);

/** Opens the operation to every valid key. */
export const AnyKey = () => SetMetadata(KEY_REQUIREMENT, 'any' satisfies KeyRequirement);
