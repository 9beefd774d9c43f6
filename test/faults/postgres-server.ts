import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-stack';
import { childPidsOf } from '../support/child-pids.js';

/** A Postgres that comes and goes. Its address and its data stay. */
export class PostgresServer {
  #running: EmbeddedPostgres | undefined;
  #hasDied = false;

  private constructor(
    private readonly dataDir: string,
    private readonly launch: () => Promise<EmbeddedPostgres>,
    readonly url: string,
  ) {}

  /** Commits survive a crash here as they do in production. */
  static async start(dataDir: string, signal: AbortSignal): Promise<PostgresServer> {
    // Below the ports that the system hands out by itself: while the server is away, nobody gets this one by chance.
    const port = randomInt(20_000, 32_000);
    const launch = () => startEmbeddedPostgres({ dataDir, port, signal, log: () => undefined });
    const first = await launch();
    const server = new PostgresServer(dataDir, launch, first.url);
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

  /** Freezes the server and its sessions: connections stay open, and nothing answers. */
  pause(): void {
    this.#signalAll('SIGSTOP');
  }

  resume(): void {
    this.#signalAll('SIGCONT');
  }

  /** Copies its files while it does not run. */
  copyFiles(): void {
    rmSync(this.#copy, { recursive: true, force: true });
    execFileSync('cp', ['-a', this.#files, this.#copy]);
  }

  /** Puts its files back to what they were at the copy, while it does not run. */
  putFilesBack(): void {
    rmSync(this.#files, { recursive: true, force: true });
    execFileSync('cp', ['-a', this.#copy, this.#files]);
  }

  get #files(): string {
    return join(this.dataDir, 'postgres/cluster');
  }

  get #copy(): string {
    return join(this.dataDir, 'postgres/cluster-copy');
  }

  #signalAll(name: 'SIGSTOP' | 'SIGCONT'): void {
    const pid = this.#running?.pid;
    if (pid === undefined) return;
    // The server first, so that no session is started behind our back.
    process.kill(pid, name);
    for (const child of childPidsOf(pid)) {
      try {
        process.kill(child, name);
      } catch {
        // The session has just ended.
      }
    }
  }

  #take(running: EmbeddedPostgres): void {
    this.#running = running;
    this.#hasDied = false;
    void running.died.then(() => {
      if (this.#running === running) this.#hasDied = true;
    });
  }
}
