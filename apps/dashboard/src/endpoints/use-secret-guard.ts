import { useBlocker } from '@tanstack/react-router';

/** Asks before a reload, a link or a step back loses a secret that is shown only once. */
export function useSecretGuard(isAtRisk: boolean, question: string): void {
  useBlocker({
    shouldBlockFn: () => !window.confirm(question),
    enableBeforeUnload: true,
    disabled: !isAtRisk,
  });
}

/** The question while the request for the secret runs. */
export const SECRET_TO_COME = 'The new secret is not shown yet. Leave without it?';
