import type { Page } from 'playwright-core';

/** Holds back what a page asks for at these addresses. @returns a function that lets it all through */
export async function holdAnswers(page: Page, addresses: string | RegExp): Promise<() => void> {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(addresses, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}
