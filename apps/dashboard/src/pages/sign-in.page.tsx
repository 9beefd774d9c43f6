import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useEffect, useState, type SyntheticEvent } from 'react';
import { ApiProblem, failureText } from '../api/api-problem.js';
import { signIn } from '../session/session.js';
import { Brand } from '../shell/brand.js';
import { ThemeSwitch } from '../shell/theme-switch.js';
import { Button } from '../ui/button.js';
import { TextField } from '../ui/field.js';
import { Notice } from '../ui/notice.js';
import './sign-in.css';

const route = getRouteApi('/sign-in');

export function SignInPage() {
  const { next, ended } = route.useSearch();
  const router = useRouter();
  const queries = useQueryClient();
  const [apiKey, setApiKey] = useState('');
  const entering = useMutation({
    mutationFn: (key: string) => signIn(queries, key),
    onSuccess: () => {
      router.history.push(next ?? '/');
    },
  });
  useEffect(() => {
    document.title = 'Sign in · Gapless';
  }, []);

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (apiKey.trim() !== '') entering.mutate(apiKey.trim());
  };

  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <div className="row-apart">
          <Brand />
          <ThemeSwitch />
        </div>
        {ended === true && !entering.isError && (
          <Notice tone="wait" icon="clock" title="Your session has ended">
            Sign in again to go on where you were.
          </Notice>
        )}
        <form onSubmit={submit} className="stack">
          <h1>Sign in</h1>
          <TextField
            label="API key"
            type="password"
            placeholder="gk_…"
            autoComplete="current-password"
            spellCheck={false}
            autoFocus
            required
            className="mono"
            value={apiKey}
            onChange={(event) => {
              setApiKey(event.target.value);
            }}
            hint="A key of your organization. Its scopes decide what you can do here."
            error={entering.isError ? refusalText(entering.error) : undefined}
          />
          <Button type="submit" look="solid" busy={entering.isPending}>
            Sign in
          </Button>
        </form>
        <p className="sign-in-note">
          No key yet? On a machine that runs Gapless, <code>npm start</code> writes one to{' '}
          <code>.data/credentials.json</code>. Or ask an administrator for one: <code>gapless keys create</code> makes
          it.
        </p>
      </div>
    </main>
  );
}

function refusalText(error: unknown): string {
  if (error instanceof ApiProblem && error.code === 'invalid_api_key') {
    return 'This key is not known, was revoked, or has expired.';
  }
  return failureText(error);
}
