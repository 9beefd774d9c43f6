/** When and how an org's staff is alerted about unanswered chats (contract 7.4). */
export interface LiveChatSettings {
  /** Seconds of waiting before the first alert. */
  readonly firstAlertSeconds: number;
  /** Seconds of waiting before the alert escalates; more than for the first. */
  readonly secondAlertSeconds: number;
  readonly staffAlerts: {
    /** `false` turns off staff alerts, but not the events. */
    readonly enabled: boolean;
    /** The addresses that each staff alert is mailed to. */
    readonly emails: readonly string[];
  };
}

/** The settings of an org that has set none. */
export const DEFAULT_LIVE_CHAT_SETTINGS: LiveChatSettings = {
  firstAlertSeconds: 60,
  secondAlertSeconds: 300,
  staffAlerts: { enabled: true, emails: [] },
};
