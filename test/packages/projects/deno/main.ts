import { createHmac } from 'node:crypto';
import { Webhook } from '@gapless/consumer';
import { fetchWebhook } from '@gapless/consumer/fetch';

const SECRET = 'whsec_c2VjcmV0';
const handled: string[] = [];
const webhook = new Webhook({
  secret: SECRET,
  handle: (event) => void handled.push(event.event),
  onError: (error) => console.error(error),
});

const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: () => undefined }, fetchWebhook(webhook));
const body = JSON.stringify({
  id: 'evt_1',
  seq: 1,
  event: 'ticket.created',
  occurred_at: '2026',
  org_id: 'o',
  data: {},
});

async function push(secret: string): Promise<number> {
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const headers = { 'x-service-signature': `t=${t},v1=${v1}` };
  const response = await fetch(`http://127.0.0.1:${server.addr.port}/`, { method: 'POST', headers, body });
  await response.body?.cancel();
  return response.status;
}

const answers = [await push(SECRET), await push('whsec_b3RoZXI=')];
await server.shutdown();
await new Promise((resolve) => setTimeout(resolve, 50));
await webhook.idle();
console.log(JSON.stringify({ answers, handled }));
