import { randomInt } from 'node:crypto';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-stack';

/** A Postgres that comes and goes. Its address and its data stay. */
export class PostgresServer {
  #running: EmbeddedPostgres | undefined;
  #hasDied = false;

  private constructor(
    private readonly launch: () => Promise<EmbeddedPostgres>,
    readonly url: string,
  ) {}

  /** Commits survive a crash here as they do in production. */
  static async start(dataDir: string, signal: AbortSignal): Promise<PostgresServer> {
    // Below the ports that the system hands out by itself: while the server is away, nobody gets this one by chance.
    const port = randomInt(20_000, 32_000);
    const launch = () => startEmbeddedPostgres({ dataDir, port, signal, log: () => undefined });
    const first = await launch();
    const server = new PostgresServer(launch, first.url);
    server.#take(first);
    return server;
  }

  /** Whether it has ended without being asked to. */
  get hasDied(): boolean {
    return this.#hasDied;
  }

  async start(): Promise<void> {
    if (this.#running !== undefined && !this.#hasDied) return;
    await this.#running?.stop();
    const again = await this.launch();
    if (again.url !== this.url) {
      await again.stop();
      throw new Error('somebody took the port of Postgres while it was away');
    }
    this.#take(again);
  }

  /** Ends it and its sessions by SIGKILL. */
  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
  }

  #take(running: EmbeddedPostgres): void {
    this.#running = running;
    this.#hasDied = false;
    void running.died.then(() => {
      if (this.#running === running) this.#hasDied = true;
    });
  }
}
