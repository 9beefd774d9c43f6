import { Injectable, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { readDto } from './json-body.decorator.js';

// oxlint-disable-next-line typescript/no-extraneous-class -- a body without members is a class without any
class NoMembers {}

@Injectable()
class NoMembersGuard implements CanActivate {
  /** @throws GaplessError those of `readDto` */
  canActivate(context: ExecutionContext): boolean {
    const { body } = context.switchToHttp().getRequest<FastifyRequest>();
    if (Buffer.isBuffer(body) && body.length > 0) readDto(body, NoMembers);
    return true;
  }
}

/** Refuses a body that has members: a caller who sends `dry_run` to an operation without it does not expect an effect. */
export const WithoutMembers = () => UseGuards(NoMembersGuard);
