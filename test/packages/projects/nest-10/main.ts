// The same program is compiled as CommonJS with Nest 10 and as ESM with Nest 12.
import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { GaplessWebhookModule } from '@gapless/consumer/nest';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';

const SECRET = 'whsec_c2VjcmV0';
const OTHER_SECRET = 'whsec_b3RoZXI=';
const handled: string[] = [];

@Module({
  imports: [
    GaplessWebhookModule.forRoot({
      path: 'hooks',
      secret: SECRET,
      handle: async (event) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        handled.push(event.event);
      },
      onError: (error) => console.error(error),
    }),
    GaplessWebhookModule.forRoot({
      path: 'other-hooks',
      secret: OTHER_SECRET,
      handle: () => undefined,
      onError: (error) => console.error(error),
    }),
  ],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule, { rawBody: true, logger: false });
  app.useBodyParser('json', { limit: '1mb' });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const body = JSON.stringify({
    id: 'evt_1',
    seq: 1,
    event: 'ticket.created',
    occurred_at: '2026',
    org_id: 'o',
    data: {},
  });
  const push = async (path: string, secret: string) => {
    const t = Math.floor(Date.now() / 1000);
    const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-service-signature': `t=${t},v1=${v1}` };
    return (await fetch(`${url}/${path}`, { method: 'POST', headers, body })).status;
  };
  const answers = [
    await push('hooks', SECRET),
    await push('hooks', OTHER_SECRET),
    await push('other-hooks', OTHER_SECRET),
    await push('other-hooks', SECRET),
  ];
  // It waits for the push that is being handled.
  await app.close();
  console.log(JSON.stringify({ answers, handled }));
}

void main();
