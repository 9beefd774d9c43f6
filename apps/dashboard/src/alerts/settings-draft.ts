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

/**
 * Returns the current settings with what was changed in the form. What others change meanwhile stays as they set it.
 * @param initial the settings that the form began with
 */
export function changedSettings(
  current: LiveChatSettings,
  draft: SettingsDraft,
  initial: LiveChatSettings,
): LiveChatSettings {
  const [submitted, before] = [settingsOf(draft), settingsOf(settingsDraft(initial))];
  const chosen = <T>(now: T, then: T, wanted: T): T => (JSON.stringify(wanted) === JSON.stringify(then) ? now : wanted);
  const { staff_alerts: staff } = current;
  return {
    first_alert_seconds: chosen(current.first_alert_seconds, before.first_alert_seconds, submitted.first_alert_seconds),
    second_alert_seconds: chosen(
      current.second_alert_seconds,
      before.second_alert_seconds,
      submitted.second_alert_seconds,
    ),
    staff_alerts: {
      enabled: chosen(staff.enabled, before.staff_alerts.enabled, submitted.staff_alerts.enabled),
      emails: chosen(staff.emails, before.staff_alerts.emails, submitted.staff_alerts.emails),
    },
  };
}

/**
 * Returns the form after a save or a read: what is stored, and what was typed since.
 * @param before the form as it was saved, or as the read before filled it
 */
export function updatedDraft(draft: SettingsDraft, before: SettingsDraft, stored: LiveChatSettings): SettingsDraft {
  const shown = settingsDraft(stored);
  return {
    first: draft.first === before.first ? shown.first : draft.first,
    second: draft.second === before.second ? shown.second : draft.second,
    isMailed: draft.isMailed === before.isMailed ? shown.isMailed : draft.isMailed,
    emails: draft.emails === before.emails ? shown.emails : draft.emails,
  };
}

/** Whether the form has changed anything. */
export function isChanged(draft: SettingsDraft, initial: LiveChatSettings): boolean {
  return JSON.stringify(settingsOf(draft)) !== JSON.stringify(settingsOf(settingsDraft(initial)));
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
