import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import { KEY_REQUIREMENT, type KeyRequirement } from './require-scope.js';
import './authenticated-key.js';

/** Lets a request through when its key has the scopes that the operation names with `@RequireScope`. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const { apiKey } = context.switchToHttp().getRequest<FastifyRequest>();
    const required = this.reflector.getAllAndOverride<KeyRequirement | undefined>(KEY_REQUIREMENT, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (required === undefined) {
      // Routes without authentication require nothing. A route with it must not be open because its scope was
      // forgotten.
      if (apiKey === null) return true;
      throw new Error(`${context.getClass().name} does not say which scope it requires`);
    }
    if (apiKey === null) throw new Error(`${context.getClass().name} requires a scope outside of /api/`);
    const missing = required === 'any' ? undefined : required.find((scope) => !apiKey.scopes.includes(scope));
    if (missing === undefined) return true;
    throw new GaplessError('insufficient_scope', `The API key lacks the scope ${missing}.`);
  }
}
