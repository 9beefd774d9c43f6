import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { JsonObject } from '#libs/domain';
import type { MemberRule } from './checked.decorator.js';
import { objectSchema } from './member-rules.js';

/** Returns the members of a DTO in their order, its own before those that it inherits. */
export function membersOf(dto: Type<object>): ReadonlyMap<string, MemberRule> {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  return new Map(metadata.map(({ propertyName, context }) => [propertyName, context as MemberRule]));
}

/** Returns the JSON Schema of the bodies that `readDto` accepts for this DTO. */
export function bodySchema(dto: Type<object>): JsonObject {
  return objectSchema(Object.fromEntries(membersOf(dto)));
}
