import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { JUDGED_SETTINGS } from '../../libs/kafka-log/src/set-up/judge-topic.js';
import { ROOT } from '../support/root.js';

/** It is set for new topics, and existing ones may have any. */
const FREE = 'delete.retention.ms';

it('operate.md lists every setting of a topic that can keep Gapless from starting', () => {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/operate.md'), 'utf8').split('### Topics that do not fit');
  const [table = ''] = /^\| setting[^]*?\n\n/m.exec(section) ?? [];
  const listed = [...table.matchAll(/`([a-z]+(?:\.[a-z]+)+)`/g)].map(([, name]) => name);
  expect(listed.sort()).toEqual(JUDGED_SETTINGS.filter((name) => name !== FREE).sort());
});
