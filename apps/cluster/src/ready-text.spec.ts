import { describe, expect, it } from '@jest/globals';
import { readyText } from './ready-text.js';

const text = (dataDir: string) => readyText([], { urls: ['http://127.0.0.1:3000', 'http://127.0.0.1:3008'], dataDir });

describe('the text of a cluster', () => {
  it('sets DATA_DIR for the commands that follow', () => {
    expect(text('/srv/gapless')).toMatch(/export DATA_DIR=\/srv\/gapless\n +npm run -s receiver/);
    expect(text('/srv/my data')).toContain("export DATA_DIR='/srv/my data'");
  });

  // A zsh takes them, and what follows, for arguments.
  it('has no comments in its commands', () => {
    expect(text('/srv/gapless')).not.toContain('#');
  });
});
