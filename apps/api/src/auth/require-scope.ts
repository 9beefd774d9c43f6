import { SetMetadata } from '@nestjs/common';
import type { ApiKeyScope } from '#libs/postgres';

/** What an operation requires of the key: a scope, or only that it is valid. */
export type KeyRequirement = ApiKeyScope | 'any';

export const KEY_REQUIREMENT = Symbol('KeyRequirement');

/** The operation is for keys with the scope. */
export const RequireScope = (scope: ApiKeyScope) => SetMetadata(KEY_REQUIREMENT, scope);

/** The operation is for every valid key. */
export const AnyKey = () => SetMetadata(KEY_REQUIREMENT, 'any' satisfies KeyRequirement);
