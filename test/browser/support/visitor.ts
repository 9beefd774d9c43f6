import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { PATIENCE_MS } from '../../support/infrastructure/eventually.js';

/** How a visitor looks at the pages. */
export interface View {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  /** Whether pages may move: a browser without a GPU draws what moves without end over and over. */
  readonly motion?: true;
  /** Such as `Europe/Berlin`; that of the machine if it is not given. */
  readonly timeZone?: string;
}

/** Somebody with a browser of their own; keeps what the browser complains about. */
export class Visitor {
  readonly complaints: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly baseUrl: string,
  ) {
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(error.message));
  }

  static async come(
    browser: Browser,
    baseUrl: string,
    { theme = 'light', width = 1_280, motion, timeZone }: View = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: theme,
      reducedMotion: motion ? 'no-preference' : 'reduce',
      ...(timeZone === undefined ? {} : { timezoneId: timeZone }),
    });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    return new Visitor(context, page, baseUrl);
  }

  async open(path: string): Promise<void> {
    await this.page.goto(this.baseUrl + path);
  }

  /** Signs in without a page: the next one that is opened finds the cookie, and the hint that there is one. */
  async bringSession(apiKey: string): Promise<void> {
    const { href } = new URL('/api/v1/dashboard/session', this.baseUrl);
    const answer = await this.context.request.post(href, { data: { api_key: apiKey } });
    if (!answer.ok()) throw new Error(`The sign-in was answered ${answer.status()}: ${await answer.text()}`);
    await this.page.addInitScript("localStorage['gapless.signed-in'] ??= 'a key'");
  }

  /**
   * Signs in as people do.
   * @param first the page that the sign-in leads to
   */
  async signIn(apiKey: string, first = 'Overview'): Promise<void> {
    await this.open('/sign-in');
    await this.page.getByLabel('API key').fill(apiKey);
    await this.button('Sign in').click();
    await this.heading(first).waitFor();
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' });
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole('heading', { name, exact: typeof name === 'string', level: 1 });
  }

  /** Chooses an action of the menu that the three dots open. */
  async choose(action: string): Promise<void> {
    await this.button('More actions').click();
    await this.page.getByRole('menuitem', { name: action }).click();
  }

  /** Looks for something with the search box. */
  async find(text: string): Promise<void> {
    await this.page.getByLabel('Find by id, seq or name').fill(text);
    await this.page.keyboard.press('Enter');
  }

  async see(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  async leave(): Promise<void> {
    await this.context.close();
  }
}
