import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { runProgram } from '../support/outside-clients.js';
import { ROOT } from '../support/root.js';

it('says how to get a Java that is found afterwards', async () => {
  const script = `
    import { checkJava } from ${JSON.stringify(join(ROOT, 'scripts/prerequisites.mjs'))};
    await checkJava({ JAVA_HOME: '/nowhere' }).catch(({ message }) => console.log(message));
  `;
  const advice = (await runProgram(process.execPath, ['--input-type=module', '-e', script])).toString();
  // Debian 13 has no Java 17. Homebrew's openjdk@17 is not on PATH.
  expect(advice).toContain(
    'Debian, Ubuntu:  apt-get install openjdk-21-jre-headless (Debian 12: openjdk-17-jre-headless)',
  );
  expect(advice).toContain('macOS:           brew install --cask temurin\n');
});
