import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import axios, { type AxiosInstance, type AxiosResponse, type RawAxiosRequestHeaders } from 'axios';
import { parseOrgId, type OrgId } from '#libs/domain';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';

const TIMEOUT_MS = 10_000;

/** The content of `DATA_DIR/credentials.json` (contract 11): the address of Gapless, and the keys to use. */
interface Credentials {
  readonly base_url: string;
  readonly api_key: string;
  readonly org_id?: unknown;
  readonly service_key?: unknown;
}

/** A response, with its body as text. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A client of the Gapless that `npm start` runs here. */
export class GaplessClient {
  readonly #http: AxiosInstance;

  private constructor(
    private readonly credentials: Credentials,
    apiKey: string,
  ) {
    this.#http = axios.create({
      baseURL: `${credentials.base_url}/api/v1`,
      headers: { 'X-Api-Key': apiKey },
      // Gapless is on this machine, so proxies of the environment do not apply.
      proxy: false,
      // Bodies stay as they are: parsing and printing them again would change how numbers are spelled.
      responseType: 'text',
      transformResponse: (text: unknown) => text,
      validateStatus: () => true,
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

  async post(path: string, json: string): Promise<Answer> {
    const headers: RawAxiosRequestHeaders = { 'Content-Type': 'application/json' };
    return this.#reach(() => this.#http.post<string>(path, json, { headers, timeout: TIMEOUT_MS }));
  }

  async #reach(act: () => Promise<AxiosResponse<string>>): Promise<Answer> {
    try {
      const { status, data } = await act();
      return { status, text: data };
    } catch (error) {
      const reason = axios.isAxiosError(error) ? (error.code ?? error.message) : String(error);
      throw new CliError(
        `Gapless does not answer at ${this.credentials.base_url} (${reason}): start it first (npm start)`,
      );
    }
  }
}

/** The members of RFC 9457 that the CLI shows. */
interface Problem {
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** Turns a refused response into an error with its `detail` and each invalid place. */
export function refusal({ status, text }: Answer): CliError {
  const { detail = '', errors = [] } = problemIn(text);
  // A single problem is already in the detail.
  const places = errors
    .filter((error) => !detail.includes(error.detail))
    .map((error) => `${error.pointer} ${error.detail}`);
  return new CliError([`refused with ${status}`, detail, ...places].filter((part) => part !== '').join('; '));
}

function problemIn(text: string): Problem {
  try {
    return (JSON.parse(text) as Problem | null) ?? {};
  } catch {
    // The response is not from Gapless, so only its status is shown.
    return {};
  }
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
