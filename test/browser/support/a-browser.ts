import { chromium, type Browser } from 'playwright-core';

/** Debian's Chromium without a window; the test command has installed it. */
export function aBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
    // Its sandbox does not work for root, nor in most containers; what it shows here is ours.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}
