import { describe, expect, it } from '@jest/globals';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ApiModule } from '../api.module.js';
import { KEY_REQUIREMENT, type KeyRequirement } from '../auth/require-scope.js';
import { isIdempotent } from '../idempotency/idempotent.decorator.js';
import { OPENAPI_DOCUMENT } from './openapi-document.js';

interface Operation {
  readonly description: string;
  readonly parameters?: readonly { readonly name?: string }[];
}

/** What an operation requires and honours, as both the decorators and the document say it. */
interface Rules {
  readonly requirement: string | undefined;
  readonly isIdempotent: boolean;
}

/** They are no operations of the document: the documents themselves, the pages of problems, and MCP. */
const NOT_DESCRIBED = ['GET /asyncapi.json', 'GET /openapi.json', 'GET /problems/{code}', '/mcp'];

/** Its ids follow from the key, so it needs no stored answer. */
const IDEMPOTENT_BY_IDS = 'POST /api/v1/internal/events';

/** Sessions of the dashboard and of the portal are recognized by their scope in the sketch, and have no text. */
const WITHOUT_TEXT = /^\/api\/v1\/(dashboard|portal)\//;

function controllersOf(module: Type): readonly Type<object>[] {
  const parts = (key: string) => (Reflect.getMetadata(key, module) ?? []) as readonly Type<object>[];
  return [...parts(MODULE_METADATA.CONTROLLERS), ...parts(MODULE_METADATA.IMPORTS).flatMap(controllersOf)];
}

function requirementText(requirement: KeyRequirement | undefined): string | undefined {
  if (requirement === undefined) return 'It needs no key.';
  if (requirement === 'any') return 'Any valid key.';
  const scopes = requirement.map((scope) => `\`${scope}\``);
  return scopes.length === 1 ? `Scope: ${scopes.join()}` : `Scopes: ${scopes.join(' and ')}.`;
}

function served(): Map<string, Rules> {
  const operations = new Map<string, Rules>();
  for (const controller of new Set(controllersOf(ApiModule))) {
    for (const name of Object.getOwnPropertyNames(controller.prototype)) {
      const handler = (controller.prototype as Readonly<Record<string, object>>)[name]!;
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) continue;
      const paths = [controller, handler].map((part) => Reflect.getMetadata(PATH_METADATA, part) as string);
      const path = `/${paths.join('/')}`.replace(/\/+$/, '').replaceAll(/:(\w+)/g, '{$1}');
      const required = (Reflect.getMetadata(KEY_REQUIREMENT, handler) ??
        Reflect.getMetadata(KEY_REQUIREMENT, controller)) as KeyRequirement | undefined;
      const operation = `${RequestMethod[method]} ${path}`;
      operations.set(operation, {
        requirement: WITHOUT_TEXT.test(path) ? undefined : requirementText(required),
        isIdempotent: isIdempotent(handler) || operation === IDEMPOTENT_BY_IDS,
      });
    }
  }
  return operations;
}

function described(): Map<string, Rules> {
  const paths = OPENAPI_DOCUMENT['paths'] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const operations = new Map<string, Rules>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { description, parameters = [] }] of Object.entries(methods)) {
      const text = /(?:Scopes?: [^.,]+|Any valid key|It needs no key)[.]?/.exec(description)?.[0];
      operations.set(`${method.toUpperCase()} ${path}`, {
        requirement: WITHOUT_TEXT.test(path) ? undefined : text?.replace(/^(Scope: [^.]*)\.$/, '$1'),
        isIdempotent: parameters.some(({ name }) => name === 'Idempotency-Key'),
      });
    }
  }
  return operations;
}

describe('the OpenAPI document, beside the controllers', () => {
  const operations = [...served()].filter(([name]) => !NOT_DESCRIBED.some((left) => name.endsWith(left)));

  it('has each operation that is served, and no other', () => {
    expect([...described().keys()].sort()).toEqual(operations.map(([name]) => name).sort());
  });

  it('says of each what it requires, and whether it honours an Idempotency-Key', () => {
    expect(operations.length).toBeGreaterThan(50);
    expect(Object.fromEntries(described())).toEqual(Object.fromEntries(operations));
  });
});
