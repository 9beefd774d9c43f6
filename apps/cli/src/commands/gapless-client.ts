import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import axios from 'axios';
import { ApiClient, ApiError, submitEvents, type Submission } from '#libs/api-client';
import { parseOrgId, type OrgId } from '#libs/domain';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';

/** A large request may take 15 s while Gapless is busy (contract 9). */
const TIMEOUT_MS = 20_000;
/** Nothing listens at the address. Retries would only delay the advice. */
const NOT_THERE = 'ECONNREFUSED';

/** The content of `DATA_DIR/credentials.json` (contract 11): the address of Gapless, and the keys to use. */
interface Credentials {
  readonly base_url: string;
  readonly api_key: string;
  readonly org_id?: unknown;
  readonly service_key?: unknown;
}

/** A client of the Gapless that `npm start` runs here. */
export class GaplessClient {
  readonly #api: ApiClient;
  readonly #notThere = new AbortController();

  private constructor(
    private readonly credentials: Credentials,
    apiKey: string,
  ) {
    this.#api = new ApiClient({
      baseUrl: credentials.base_url,
      apiKey,
      timeoutMs: TIMEOUT_MS,
      // Gapless is on this machine, so proxies of the environment do not apply.
      http: axios.create({ proxy: false }),
      onRetry: ({ code }) => {
        if (code === NOT_THERE) this.#notThere.abort();
      },
    });
  }

  /** Connects as the demo org. @throws CliError when there are no credentials */
  static async connect(environment: Environment): Promise<GaplessClient> {
    const credentials = await readCredentials(environment['DATA_DIR']);
    return new GaplessClient(credentials, credentials.api_key);
  }

  /** Connects as a product service, which submits events of any org. @throws CliError when there are no credentials */
  static async connectAsService(environment: Environment): Promise<GaplessClient> {
    const credentials = await readCredentials(environment['DATA_DIR']);
    const { service_key: serviceKey } = credentials;
    if (typeof serviceKey !== 'string') throw new CliError('credentials.json has no service_key');
    return new GaplessClient(credentials, serviceKey);
  }

  /** The id of the demo org. @throws CliError when the credentials have none */
  get demoOrgId(): OrgId {
    const orgId = parseOrgId(this.credentials.org_id);
    if (orgId === undefined) throw new CliError('credentials.json has no org_id');
    return orgId;
  }

  /**
   * Submits the events in one request. Without an answer, or if Gapless is busy, it repeats the request. The ids are the
   * same, so no event is appended twice.
   * @throws CliError
   */
  async submit(events: readonly Submission[]): Promise<void> {
    try {
      await submitEvents(this.#api, events, { retriesUntil: this.#notThere.signal });
    } catch (error) {
      throw error instanceof ApiError ? failureOf(error, this.credentials.base_url) : error;
    }
  }
}

/** Returns an error with the `detail` of a refusal and each invalid place, or with what to do if nobody answers. */
function failureOf({ status, code, detail, problems }: ApiError, url: string): CliError {
  if (code === NOT_THERE) {
    return new CliError(`Gapless does not answer at ${url} (${code}): start it first (npm start)`);
  }
  if (status === undefined) {
    return new CliError(`Gapless does not answer at ${url} (${code}); it may have taken the last events`);
  }
  // A single problem is already in the detail.
  const places = problems
    .filter((problem) => !detail.includes(problem.detail))
    .map((problem) => `${problem.pointer} ${problem.detail}`);
  return new CliError([`refused with ${status}`, detail, ...places].filter((part) => part !== '').join('; '));
}

async function readCredentials(dataDir: string | undefined): Promise<Credentials> {
  const path = resolve(join(dataDir?.trim() || '.data', 'credentials.json'));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new CliError(
      code === 'ENOENT'
        ? `${path} does not exist: start Gapless first (npm start), or set DATA_DIR to its data folder`
        : `${path} cannot be read: ${code}`,
    );
  });
  try {
    const { base_url, api_key, ...others } = JSON.parse(text) as Partial<Record<keyof Credentials, unknown>>;
    if (typeof base_url === 'string' && typeof api_key === 'string') return { ...others, base_url, api_key };
  } catch {
    // Reported below, like missing members.
  }
  throw new CliError(`${path} is not a credentials file of npm start`);
}
