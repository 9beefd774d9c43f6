import { expect, it } from '@jest/globals';
import { consumerProgram } from './consumer-options.js';

it.each(['', ',', 'ticket.created,'])('the receiver refuses --events "%s"', async (types) => {
  const program = consumerProgram(() => Promise.resolve()).configureOutput({ writeErr: () => undefined });
  const run = program.exitOverride().parseAsync(['--events', types], { from: 'user' });
  await expect(run).rejects.toThrow('expected event types, separated by commas');
});
