import type { Page, Request } from 'playwright-core';

/** In the first frame, the page draws what it has. The second begins when that is done. */
const TWO_FRAMES = 'new Promise((passed) => requestAnimationFrame(() => requestAnimationFrame(passed)))';

/** Holds back what a page asks the api for, each answer until the one before it is drawn, so that its parts come apart. */
export class LateAnswers {
  #lastDrawn: Promise<unknown> = Promise.resolve();
  #underWay = 0;

  private constructor(private readonly page: Page) {}

  static async of(page: Page): Promise<LateAnswers> {
    const answers = new LateAnswers(page);
    await page.route(/\/(external|dashboard)\//, async (route) => {
      const request = route.request();
      const isForSession = /\/dashboard\/(session|organization)$/.test(request.url());
      if (request.resourceType() === 'fetch' && !isForSession) await answers.#turnOf(request);
      await route.fallback();
    });
    return answers;
  }

  /** Whether everything that was asked for is drawn. */
  get isEmpty(): boolean {
    return this.#underWay === 0;
  }

  async #turnOf(request: Request): Promise<void> {
    this.#underWay++;
    const turn = this.#lastDrawn;
    this.#lastDrawn = turn.then(async () => {
      await this.#drawn(request).catch(() => undefined);
      this.#underWay--;
    });
    await turn;
  }

  async #drawn(request: Request): Promise<void> {
    const response = await request.response();
    await response?.finished();
    await this.page.evaluate(TWO_FRAMES);
  }
}
