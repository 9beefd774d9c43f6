import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';

/** Long enough that the page is drawn between two answers, on a busy machine too. */
const STEP_MS = 300;

/** Holds back what a page asks the api for, each answer longer than the one before, so that its parts come apart. */
export class LateAnswers {
  #asked = 0;
  #held = 0;

  private constructor() {}

  static async of(page: Page): Promise<LateAnswers> {
    const answers = new LateAnswers();
    page.on('framenavigated', () => {
      answers.#asked = 0;
    });
    await page.route(/\/(external|dashboard)\//, async (route) => {
      const request = route.request();
      const isForSession = /\/dashboard\/(session|organization)$/.test(request.url());
      if (request.resourceType() === 'fetch' && !isForSession) await answers.#hold();
      await route.fallback();
    });
    return answers;
  }

  /** Whether everything that was asked for has been let through. */
  get isEmpty(): boolean {
    return this.#held === 0;
  }

  async #hold(): Promise<void> {
    this.#held++;
    await sleep(STEP_MS * this.#asked++);
    this.#held--;
  }
}
