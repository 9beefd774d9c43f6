import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Cursor } from '../../../consumer/src/index.js';
import type { CliContext } from '../context.js';
import type { Credentials } from '../settings/credentials.js';
import { listenDirectory } from '../settings/paths.js';
import { readPrivateFile, writePrivateFile } from '../settings/private-file.js';

/** What `gapless listen` remembers between two runs: its position in the feed, and the secret that it signs with. */
export class ListenState implements Cursor {
  #seq: number | undefined;

  private constructor(
    private readonly path: string,
    readonly secret: string,
    seq: number | undefined,
  ) {
    this.#seq = seq;
  }

  /**
   * @param orgId not the key: a listener goes on with the next key of its organization
   * @param name distinguishes several listeners of one organization
   * @throws CliError when the file is damaged, or cannot be written
   */
  static async open(
    context: CliContext,
    { url, apiKey }: Credentials,
    orgId: string,
    name: string,
  ): Promise<ListenState> {
    const pathFor = (owner: string): string => {
      const hash = createHash('sha256')
        .update(JSON.stringify([url, owner, name]))
        .digest('hex');
      return join(listenDirectory(context), `${hash.slice(0, 32)}.json`);
    };
    const path = pathFor(orgId);
    // Older listeners have a file that is named by the id of their key, without its secret.
    const keyId = apiKey.split('_').slice(0, 2).join('_');
    const stored = await readPrivateFile(path);
    const { seq, secret } = stored ?? (await readPrivateFile(pathFor(keyId))) ?? {};
    const state = new ListenState(
      path,
      typeof secret === 'string' ? secret : `whsec_${randomBytes(32).toString('base64')}`,
      typeof seq === 'number' ? seq : undefined,
    );
    if (typeof stored?.['secret'] !== 'string') await state.#write();
    return state;
  }

  get seq(): number | undefined {
    return this.#seq;
  }

  load(): Promise<number | undefined> {
    return Promise.resolve(this.#seq);
  }

  async save(seq: number): Promise<void> {
    if (seq === this.#seq) return;
    this.#seq = seq;
    await this.#write();
  }

  #write(): Promise<void> {
    return writePrivateFile(this.path, { seq: this.#seq, secret: this.secret });
  }
}
