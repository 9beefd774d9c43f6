import { request } from 'node:http';
import type { Answer } from '../../../support/receiver.js';

/** What becomes of a push on its way to a consumer. */
interface LossyWay {
  readonly answer: Answer;
  /** How many pushes were answered with 200 and thrown away. */
  readonly lost: () => number;
}

/**
 * Passes pushes on to the consumer at the port, but for a tenth of them, which are answered as if they had been. When
 * the consumer is away, the push is refused.
 */
export function aLossyWay(port: number, draw: (below: number) => number): LossyWay {
  let lost = 0;
  return {
    lost: () => lost,
    answer: (_request, response, { headers, body }) => {
      if (draw(10) === 0) {
        lost++;
        response.end();
        return;
      }
      const onward = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false }, (answer) => {
        answer.resume();
        response.writeHead(answer.statusCode ?? 502).end();
      });
      onward.once('error', () => response.writeHead(503).end());
      onward.end(body);
    },
  };
}
