import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { LiveChatSettingsRecords } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { liveChatSettingsJson } from './live-chat.presenter.js';
import { OrgInPath } from './org-in-path.decorator.js';

/** `GET /internal/orgs/:orgId/live-chat-settings`: the settings of the org, or the defaults (contract 7.4). */
@Controller('api/v1/internal/orgs/:orgId/live-chat-settings')
export class GetLiveChatSettingsController {
  constructor(private readonly settings: LiveChatSettingsRecords) {}

  @Get()
  @RequireScope('settings:read')
  async get(@OrgInPath() orgId: OrgId) {
    return { data: liveChatSettingsJson(await this.settings.read(orgId)) };
  }
}
