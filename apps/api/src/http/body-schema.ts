import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { JsonObject } from '#libs/domain';
import type { MemberRule } from './checked.decorator.js';
import { objectSchema } from './member-rules.js';

/** The members of a DTO, in their order. */
export function membersOf(dto: Type<object>): ReadonlyMap<string, MemberRule> {
  const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  return new Map(metadata.map(({ propertyName, context }) => [propertyName, context as MemberRule]));
}

/** JSON Schema of the bodies that `readDto` makes this DTO of. */
export function bodySchema(dto: Type<object>): JsonObject {
  return objectSchema(Object.fromEntries(membersOf(dto)));
}
