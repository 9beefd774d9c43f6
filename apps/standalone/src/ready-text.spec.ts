import { describe, expect, it } from '@jest/globals';
import { readyText, serversText } from './ready-text.js';

const URL = 'http://localhost:3000';
const config = { allowHttpUrls: false, allowedPrivateNetworks: [] };

describe('the text of a start', () => {
  it('sets DATA_DIR for the commands that follow, if this start had it', () => {
    const named = readyText(URL, config, { path: '/srv/gapless', isNamed: true });
    expect(named).toMatch(/credentials +\/srv\/gapless\/credentials.json/);
    expect(named).toMatch(/export DATA_DIR=\/srv\/gapless\n +npm run -s receiver/);
    expect(readyText(URL, config, { path: "/srv/Ada's data", isNamed: true })).toContain(
      String.raw`export DATA_DIR='/srv/Ada'\''s data'`,
    );
    expect(serversText({ path: '/srv/gapless', isNamed: true })).toMatch(
      /export DATA_DIR=\/srv\/gapless\n +npm run -s gapless -- repair/,
    );
  });

  // A zsh takes them, and what follows, for arguments.
  it('has no comments in its commands', () => {
    const data = { path: '/srv/gapless', isNamed: true };
    expect([readyText(URL, config, data), serversText(data)].join('')).not.toContain('#');
  });

  it('names no folder that the commands find by themselves, or do not need', () => {
    expect(readyText(URL, config, { path: '/here/.data', isNamed: false })).not.toContain('DATA_DIR');
    expect(serversText({ path: '/here/.data', isNamed: false })).not.toContain('DATA_DIR');
    expect(readyText(URL, config, null)).not.toMatch(/DATA_DIR|credentials/);
  });
});
