import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
  }[];
}

/** The rules that look at colors. */
export const RULES_OF_COLOR = ['color-contrast', 'link-in-text-block'];

/**
 * Everything that axe finds: each with where it is and what is wrong.
 * @param rules the only ones to check; all, unless given
 */
export async function violations(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // As the browser's own developer tools would run it: the pages' policy lets no script in.
  if (!(await page.evaluate<boolean>("typeof axe === 'object'"))) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  const { violations: found } = await page.evaluate<AxeResult>(`axe.run(document, ${JSON.stringify(options)})`);
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary ?? ''}`),
  );
}
