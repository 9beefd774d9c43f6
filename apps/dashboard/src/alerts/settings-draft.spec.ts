import { describe, expect, it } from '@jest/globals';
import {
  changedSettings,
  isChanged,
  settingsDraft,
  settingsOf,
  settingsProblems,
  updatedDraft,
} from './settings-draft.js';

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

  it('keep what others changed meanwhile, except for what was changed in the form', () => {
    const others = {
      ...SETTINGS,
      first_alert_seconds: 30,
      staff_alerts: { enabled: false, emails: ['a@example.com'] },
    };
    const draft = { ...settingsDraft(SETTINGS), second: '400', emails: 'eve@example.com' };
    expect(changedSettings(others, draft, SETTINGS)).toEqual({
      first_alert_seconds: 30,
      second_alert_seconds: 400,
      staff_alerts: { enabled: false, emails: ['eve@example.com'] },
    });
    expect(isChanged(draft, SETTINGS)).toBe(true);
    expect(isChanged(settingsDraft(SETTINGS), SETTINGS)).toBe(false);
  });

  it('keep what was typed during the save', () => {
    const submitted = { ...settingsDraft(SETTINGS), second: '400' };
    const saved = { ...SETTINGS, first_alert_seconds: 30, second_alert_seconds: 400 };
    expect(updatedDraft(submitted, submitted, saved)).toEqual(settingsDraft(saved));
    const typed = { ...submitted, second: '500', isMailed: false, emails: 'eve@example.com' };
    expect(updatedDraft(typed, submitted, saved)).toEqual({ ...typed, first: '30' });
    expect(updatedDraft({ ...submitted, first: '90' }, submitted, saved)).toMatchObject({ first: '90' });
  });

  it('follow what is stored in the fields that nobody has touched', () => {
    const typed = { ...settingsDraft(SETTINGS), second: '500' };
    const stored = { ...SETTINGS, first_alert_seconds: 30, second_alert_seconds: 400 };
    expect(updatedDraft(typed, settingsDraft(SETTINGS), stored)).toEqual({ ...typed, first: '30' });
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
