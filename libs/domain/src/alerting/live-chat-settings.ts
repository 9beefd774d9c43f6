/** When and how an org's staff is alerted about unanswered chats (contract 7.4). */
export interface LiveChatSettings {
  /** Seconds waited after which the first alert is raised. */
  readonly firstAlertSeconds: number;
  /** Seconds waited after which it escalates; more than the first. */
  readonly secondAlertSeconds: number;
  readonly staffAlerts: {
    /** `false` silences staff alerts; the events are emitted all the same. */
    readonly enabled: boolean;
    /** The addresses that get each staff alert by mail. */
    readonly emails: readonly string[];
  };
}

/** The settings of an org without its own. */
export const DEFAULT_LIVE_CHAT_SETTINGS: LiveChatSettings = {
  firstAlertSeconds: 60,
  secondAlertSeconds: 300,
  staffAlerts: { enabled: true, emails: [] },
};
