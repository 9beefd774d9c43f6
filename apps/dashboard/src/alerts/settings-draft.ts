import type { LiveChatSettings } from '../api/resources.js';

/** The settings as the form holds them. */
export interface SettingsDraft {
  readonly first: string;
  readonly second: string;
  readonly isMailed: boolean;
  readonly emails: string;
}

export interface SettingsProblems {
  readonly first?: string;
  readonly second?: string;
  readonly emails?: string;
}

export function settingsDraft(settings: LiveChatSettings): SettingsDraft {
  return {
    first: String(settings.first_alert_seconds),
    second: String(settings.second_alert_seconds),
    isMailed: settings.staff_alerts.enabled,
    emails: settings.staff_alerts.emails.join('\n'),
  };
}

export function settingsOf(draft: SettingsDraft): LiveChatSettings {
  return {
    first_alert_seconds: Number(draft.first),
    second_alert_seconds: Number(draft.second),
    staff_alerts: { enabled: draft.isMailed, emails: emailsOf(draft) },
  };
}

/** The problems of a draft, by field; an empty object if there are none. */
export function settingsProblems(draft: SettingsDraft): SettingsProblems {
  const [first, second] = [Number(draft.first), Number(draft.second)];
  const isWhole = (seconds: number) => Number.isSafeInteger(seconds) && seconds > 0;
  const wrongEmail = emailsOf(draft).find((email) => !/^[^\s@]+@[^\s@]+$/.test(email));
  return {
    ...(isWhole(first) ? {} : { first: 'A whole number of seconds, from 1.' }),
    ...(!isWhole(second)
      ? { second: 'A whole number of seconds, from 1.' }
      : second <= first
        ? { second: 'Must be longer than the first.' }
        : {}),
    ...(wrongEmail === undefined ? {} : { emails: `“${wrongEmail}” is not an address.` }),
  };
}

function emailsOf({ emails }: SettingsDraft): string[] {
  return [...new Set(emails.split(/[\s,;]+/).filter(Boolean))];
}
