import type { ChatPlan, ChatStep } from './chat-plan.js';

/** The state of a chat. */
export type ChatPhase = 'started' | 'waiting' | 'with_agent' | 'over';

/** The event of a step of a chat, without its org. */
export interface ChatEvent {
  readonly event: string;
  readonly widget_id: string;
  readonly data: object;
}

const STATUS: Readonly<Record<ChatStep['kind'], string>> = {
  created: 'active',
  handed_off: 'waiting_for_agent',
  transferred: 'waiting_for_agent',
  picked_up: 'active',
  abandoned: 'abandoned',
  completed: 'resolved',
};

/** A chat that follows its plan. */
export class SimulatedChat {
  #phase: ChatPhase = 'started';
  #queuedAtMs: number | null = null;
  #department;

  constructor(
    readonly plan: ChatPlan,
    private readonly dashboardUrl: string,
  ) {
    this.#department = plan.department;
  }

  get phase(): ChatPhase {
    return this.#phase;
  }

  /**
   * Takes the step.
   * @param others how many other chats wait
   * @returns its event
   */
  take(step: ChatStep, nowMs: number, others: number): ChatEvent {
    const waitedMs = this.#queuedAtMs === null ? 0 : nowMs - this.#queuedAtMs;
    switch (step.kind) {
      case 'created':
        break;
      case 'handed_off':
        this.#phase = 'waiting';
        this.#queuedAtMs = nowMs;
        break;
      case 'transferred':
        this.#department = step.department;
        break;
      case 'picked_up':
        this.#phase = 'with_agent';
        this.#queuedAtMs = null;
        break;
      case 'abandoned':
      case 'completed':
        this.#phase = 'over';
        break;
    }
    const data = this.#data(step, Math.floor(waitedMs / 1_000), others + Number(this.#phase === 'waiting'));
    return { event: `conversation.${step.kind}`, widget_id: this.plan.widget.id, data };
  }

  /** Returns the step that ends the chat now. */
  end(): ChatStep {
    return { afterSeconds: 0, kind: this.#phase === 'waiting' ? 'abandoned' : 'completed' };
  }

  /** `data` as in contract 3.3. */
  #data(step: ChatStep, waitedSeconds: number, queueDepth: number): object {
    const { conversationId: id, subject, firstMessage, widget, visitor } = this.plan;
    return {
      conversation: {
        id,
        subject,
        first_message: firstMessage,
        status: STATUS[step.kind],
        waited_seconds: step.kind === 'completed' ? 0 : waitedSeconds,
        queue_depth: queueDepth,
        url: `${this.dashboardUrl}/conversations/${id}`,
      },
      widget,
      channel: 'widget',
      department: this.#department,
      visitor,
      ...(step.kind === 'picked_up' ? { picked_up_by: step.agent } : {}),
      ...(step.kind === 'transferred' ? { transferred_to: { type: 'department', ...step.department } } : {}),
    };
  }
}
