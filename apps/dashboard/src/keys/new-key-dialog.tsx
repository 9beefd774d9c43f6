import { useState, type SyntheticEvent } from 'react';
import type { ApiKeyWithSecret, Scope } from '../api/resources.js';
import { SECRET_TO_COME, useSecretGuard } from '../endpoints/use-secret-guard.js';
import { useSession } from '../session/use-session.js';
import { browserClock } from '../time/clock.js';
import { words } from '../session/wording.js';
import { Button } from '../ui/button.js';
import { CancelButton, Dialog } from '../ui/dialog.js';
import { Checkbox, SelectField, TextField } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';
import { useCreateKey } from './key-changes.js';
import { SCOPE_MEANINGS, SCOPES } from './scope-meanings.js';

interface NewKeyDialogProps {
  readonly onClose: () => void;
  readonly onCreated: (key: ApiKeyWithSecret) => void;
}

const FORM = 'new-key';
const DAY_MS = 24 * 60 * 60 * 1_000;
const LIFETIMES = [
  { days: 7, text: 'In 7 days' },
  { days: 30, text: 'In 30 days' },
  { days: 90, text: 'In 90 days' },
  { days: 365, text: 'In a year' },
];

export function NewKeyDialog({ onClose, onCreated }: NewKeyDialogProps) {
  const { scopes: own } = useSession();
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(
    () => new Set(own.includes('events:read') ? ['events:read'] : []),
  );
  const [days, setDays] = useState(90);
  const [name, setName] = useState('');
  const creating = useCreateKey();
  useSecretGuard(creating.isPending, SECRET_TO_COME);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (scopes.size === 0) return;
    const expires = days === 0 ? null : new Date(browserClock.now() + days * DAY_MS).toISOString();
    creating.mutate(
      { name: name.trim() === '' ? null : name.trim(), scopes: [...scopes], expires_at: expires },
      { onSuccess: onCreated },
    );
  };
  return (
    <Dialog
      open
      busy={creating.isPending}
      onClose={onClose}
      title="New API key"
      description="Choose only the scopes that its user needs. A consumer of the feed needs only events:read."
      actions={
        <>
          <CancelButton busy={creating.isPending} onClose={onClose} />
          <Button
            type="submit"
            form={FORM}
            look="solid"
            icon="key"
            disabled={scopes.size === 0}
            busy={creating.isPending}
          >
            Create key
          </Button>
        </>
      }
    >
      <form id={FORM} onSubmit={submit} className="stack">
        <TextField
          label="Name"
          hint="What it is for. Optional."
          maxLength={120}
          value={name}
          onChange={(event) => {
            setName(event.target.value);
          }}
        />
        <fieldset className="stack-tight">
          <legend className="legend">Scopes</legend>
          {SCOPES.map((scope) => (
            <Checkbox
              key={scope}
              checked={scopes.has(scope)}
              disabled={!own.includes(scope)}
              hint={own.includes(scope) ? SCOPE_MEANINGS[scope] : `${words().access} does not have this scope.`}
              onChange={({ target }) => {
                setScopes(new Set(SCOPES.filter((each) => (each === scope ? target.checked : scopes.has(each)))));
              }}
            >
              <code>{scope}</code>
            </Checkbox>
          ))}
        </fieldset>
        <SelectField
          label="Expires"
          value={days}
          onChange={(event) => {
            setDays(Number(event.target.value));
          }}
        >
          <option value={0}>{words().isOperated ? 'Never, or with your key' : 'Never'}</option>
          {LIFETIMES.map((lifetime) => (
            <option key={lifetime.days} value={lifetime.days}>
              {lifetime.text}
            </option>
          ))}
        </SelectField>
      </form>
      {creating.isError && <FailureNotice error={creating.error} />}
    </Dialog>
  );
}
