import { Webhook } from '@gapless/consumer';
import { fetchWebhook } from '@gapless/consumer/fetch';

const webhook = new Webhook({
  secret: 'whsec_c2VjcmV0',
  handle: (event) => console.log(`handled ${event.event}`),
  onError: (error) => console.error(error),
});

export const POST = fetchWebhook(webhook);
