import type { OrgId } from '#libs/domain';
import type { GaplessApp } from '#libs/platform';
import { Store } from '#libs/postgres';
import { ApiClient } from '../../../support/api-client.js';
import { anApiKey } from '../../../support/api-keys.js';
import { anOrgId } from '../../../support/ids.js';
import { Agent } from './agent.js';

/** An org with a key that allows everything, and an agent that uses it. */
export interface AgentOrg {
  readonly orgId: OrgId;
  readonly key: string;
  readonly api: ApiClient;
  readonly agent: Agent;
}

/** Returns an org that nobody else uses. */
export async function anAgentOrg({ app, url }: GaplessApp): Promise<AgentOrg> {
  const orgId = anOrgId();
  const key = await anApiKey(app.get(Store), orgId);
  return { orgId, key, api: new ApiClient(url, key), agent: await Agent.connect(url, key) };
}

/** Makes a key of the org with these scopes alone. */
export async function aKeyOf(
  { api }: AgentOrg,
  scopes: readonly string[],
): Promise<{ readonly id: string; readonly key: string }> {
  const { text } = await api.request('POST', '/external/api-keys', JSON.stringify({ scopes }));
  return (JSON.parse(text) as { data: { id: string; key: string } }).data;
}
