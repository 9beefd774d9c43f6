// Starts the built application, pushes to it, and prints the answers.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:net';

const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const next = spawn(
  process.execPath,
  ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', String(port)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
let output = '';
next.stdout.setEncoding('utf8').on('data', (text) => {
  output += text;
});

async function push(secret) {
  const body = JSON.stringify({
    id: 'evt_1',
    seq: 1,
    event: 'ticket.created',
    occurred_at: '2026',
    org_id: 'o',
    data: {},
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-service-signature': `t=${t},v1=${v1}` };
  return (await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', headers, body })).status;
}

async function until(act) {
  for (let tries = 0; ; tries++) {
    try {
      const result = await act();
      if (result) return result;
    } catch (error) {
      if (tries >= 300) throw error;
    }
    if (tries >= 300) throw new Error(`it did not happen:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

try {
  const answers = [await until(() => push('whsec_c2VjcmV0')), await push('whsec_b3RoZXI=')];
  await until(() => output.includes('handled ticket.created'));
  console.log(JSON.stringify({ answers, handled: ['ticket.created'] }));
} finally {
  next.kill();
}
