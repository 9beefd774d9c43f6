import { describe, expect, it } from '@jest/globals';
import { settingsDraft, settingsOf, settingsProblems } from './settings-draft.js';

const SETTINGS = {
  first_alert_seconds: 60,
  second_alert_seconds: 300,
  staff_alerts: { enabled: true, emails: ['mara@example.com', 'ben@example.com'] },
};

describe('live-chat settings', () => {
  it('come out of the form as they went in', () => {
    expect(settingsOf(settingsDraft(SETTINGS))).toEqual(SETTINGS);
    expect(settingsProblems(settingsDraft(SETTINGS))).toEqual({});
  });

  it.each([
    [{ first: '0' }, 'first'],
    [{ first: '1.5' }, 'first'],
    [{ second: '60' }, 'second'],
    [{ second: '' }, 'second'],
    [{ emails: 'mara@example.com, nobody' }, 'emails'],
  ])('with %o are refused for %s', (changes, field) => {
    expect(Object.keys(settingsProblems({ ...settingsDraft(SETTINGS), ...changes }))).toEqual([field]);
  });
});
