import { Controller, Inject, Put } from '@nestjs/common';
import { mayBeMailed, type Clock, type OrgId } from '#libs/domain';
import { LiveChatSettingsRecords, type AuditActor } from '#libs/postgres';
import { CLOCK, CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { Actor } from '../audit/actor.decorator.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { throwIfInvalid } from '../http/validation-error.js';
import { CountsAsChange } from '../rate-limits/counts-as-change.js';
import { LiveChatSettingsDto } from './live-chat-settings.dto.js';
import { liveChatSettingsJson } from './live-chat.presenter.js';
import { OrgInPath } from './org-in-path.decorator.js';

/** `PUT /internal/orgs/:orgId/live-chat-settings`: the next sweep uses them, also for chats that already wait. */
@Controller('api/v1/internal/orgs/:orgId/live-chat-settings')
export class PutLiveChatSettingsController {
  constructor(
    private readonly settings: LiveChatSettingsRecords,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Put()
  @RequireScope('settings:write')
  @CountsAsChange()
  async put(
    @OrgInPath() orgId: OrgId,
    @JsonBody(LiveChatSettingsDto) body: LiveChatSettingsDto,
    @Actor() actor: AuditActor,
  ) {
    if (body.second_alert_seconds <= body.first_alert_seconds) {
      const detail = 'must be more than first_alert_seconds';
      throwIfInvalid([{ pointer: '#/second_alert_seconds', code: 'out_of_range', detail }]);
    }
    this.#checkDomains(body.staff_alerts?.emails ?? []);
    const settings = await this.settings.by(actor).replace(
      orgId,
      {
        firstAlertSeconds: body.first_alert_seconds,
        secondAlertSeconds: body.second_alert_seconds,
        staffAlerts: body.staff_alerts ?? null,
      },
      new Date(this.clock.now()),
    );
    return { data: liveChatSettingsJson(settings) };
  }
  /** @throws GaplessError `validation_failed` for addresses that `ALERT_MAIL_DOMAINS` does not allow */
  #checkDomains(emails: readonly string[]): void {
    const { alertMailDomains } = this.config;
    const detail = `must be an address of ${alertMailDomains.join(' or ')}`;
    throwIfInvalid(
      emails.flatMap((email, index) => {
        if (mayBeMailed(email, alertMailDomains)) return [];
        return [{ pointer: `#/staff_alerts/emails/${index}`, code: 'not_allowed', detail }];
      }),
    );
  }
}
