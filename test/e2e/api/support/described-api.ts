import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseTimestamp } from '#libs/event-validation';
import type { Answer, Ask } from './http-port.js';

interface Response {
  readonly content?: Readonly<Record<string, unknown>>;
}

interface OperationJson {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response>>;
}

/** An operation of the OpenAPI document, and its place there. */
interface Described extends OperationJson {
  readonly method: string;
  readonly template: string;
  readonly matches: RegExp;
}

const ANY_SEGMENT = '[^/]*';

/** Objects of answers have the members that are described, and no others. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return 'properties' in members && members['type'] === 'object'
    ? { additionalProperties: false, ...members }
    : members;
}

const escaped = (pointer: string) => encodeURIComponent(pointer.replaceAll('~', '~0').replaceAll('/', '~1'));

/** What `/openapi.json` says about the operations, and whether the answers are like that. */
export class DescribedApi {
  readonly operations: readonly Described[];
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #exercised = new Map<string, Set<number>>();
  readonly #faults = new Set<string>();

  /** @param documentJson the body of `GET /openapi.json` */
  constructor(documentJson: string) {
    const document = JSON.parse(documentJson) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, OperationJson>>>>;
    };
    this.operations = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        template,
        matches: new RegExp(`^${template.replaceAll(/\{\w+\}/g, ANY_SEGMENT)}$`),
      })),
    );
    this.#ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    this.#ajv.addFormat('date-time', { validate: (text: string) => parseTimestamp(text) !== undefined });
    this.#ajv.addFormat('date', /^\d{4}-\d{2}-\d{2}$/);
    this.#ajv.addFormat('uri', { validate: (text: string) => URL.canParse(text) });
    this.#ajv.addFormat('uri-reference', { validate: (text: string) => URL.canParse(text, 'http://a/') });
    this.#ajv.addFormat('email', /^[^\s@]+@[^\s@]+$/);
    this.#ajv.addSchema(closed(document) as object, 'openapi');
  }

  /** What there is to say against the answers so far: undeclared statuses, bodies that are not as described. */
  get faults(): readonly string[] {
    return [...this.#faults];
  }

  /** The statuses that an operation has answered with. */
  statusesOf(operationId: string): ReadonlySet<number> {
    return this.#exercised.get(operationId) ?? new Set();
  }

  /** The operation that a request is for; `undefined` if there is none. */
  operationOf({ method, path }: Pick<Ask, 'method' | 'path'>): Described | undefined {
    const [pathname = ''] = path.split('?', 1);
    return this.operations.find((operation) => operation.method === method && operation.matches.test(pathname));
  }

  /** Takes note of an answer. */
  note(ask: Ask, answer: Answer): void {
    const operation = this.operationOf(ask);
    if (operation === undefined) return;
    const { operationId } = operation;
    this.#exercised.set(operationId, new Set([...this.statusesOf(operationId), answer.status]));
    const response = operation.responses[answer.status];
    if (response === undefined) {
      this.#faults.add(`${operationId} answers ${answer.status}, which is not declared`);
      return;
    }
    const type = answer.headers['content-type']?.split(';', 1)[0];
    const declared = Object.keys(response.content ?? {});
    if (type === undefined ? declared.length > 0 || answer.text !== '' : !declared.includes(type)) {
      this.#faults.add(`${operationId} answers ${answer.status} with ${type ?? 'no body'}, which is not declared`);
    } else if (type?.endsWith('json') === true) this.#validate(operation, answer, type);
  }

  #validate({ operationId, method, template }: Described, { status, text }: Answer, type: string): void {
    const place = [template, method.toLowerCase(), 'responses', String(status), 'content', type, 'schema'];
    const reference = `openapi#/paths/${place.map(escaped).join('/')}`;
    const validate = this.#validators.get(reference) ?? this.#ajv.compile({ $ref: reference });
    this.#validators.set(reference, validate);
    if (!validate(JSON.parse(text))) {
      this.#faults.add(`${operationId} ${status}: ${this.#ajv.errorsText(validate.errors)}`);
    }
  }
}
