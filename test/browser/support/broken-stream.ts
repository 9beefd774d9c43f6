import { expect } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { eventually } from '../../support/infrastructure/eventually.js';

/**
 * Lets every stream of changes of the page end with this answer, while all other requests are answered.
 * @returns expects that the page, once it is shown, does not say that it is without a connection
 */
export async function breakStream(page: Page, answer: Parameters<Route['fulfill']>[0]): Promise<() => Promise<void>> {
  let breaks = 0;
  await page.route('**/dashboard/changes', (route) => {
    breaks++;
    return route.fulfill(answer);
  });
  await page.clock.install();
  return async () => {
    await eventually(() => {
      expect(breaks).toBeGreaterThan(0);
    });
    // From here on, time passes for the page only in `runFor`, however long its requests take.
    await page.clock.pauseAt(Date.now() + 60_000);
    const before = breaks;
    // The page itself asks for nothing now.
    const answered = page.waitForResponse((response) => response.url().endsWith('/dashboard/organization'));
    await page.clock.runFor(5_500);
    await eventually(() => {
      expect(breaks).toBeGreaterThan(before);
    });
    await answered;
    await page.clock.runFor(2_000);
    await page.waitForTimeout(100);
    expect(await page.getByText(/Not updated since/).count()).toBe(0);
  };
}
