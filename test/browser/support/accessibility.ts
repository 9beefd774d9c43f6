import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
  }[];
}

/** Everything that axe finds: each with where it is and what is wrong. */
export async function violations(page: Page): Promise<readonly string[]> {
  // As the browser's own developer tools would run it: the pages' policy lets no script in.
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary ?? ''}`),
  );
}
