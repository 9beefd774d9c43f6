import { words } from '../../session/wording.js';
import { Checkbox, SelectField, TextField } from '../../ui/field.js';
import type { DeliveryDraft, ShownDelivery } from './delivery-draft.js';

interface AuthFieldsProps {
  readonly draft: DeliveryDraft;
  readonly shown: ShownDelivery;
  readonly onChange: (part: Partial<DeliveryDraft>) => void;
  readonly problemOf: (member: string) => string | undefined;
}

const SECRETS = { basic: 'Password', bearer: 'Token', oauth2: 'Client secret' } as const;
const NAMES = { basic: 'User name', oauth2: 'Client id' } as const;

/** How pushes authenticate. */
export function AuthFields({ draft, shown, onChange, problemOf }: AuthFieldsProps) {
  const { auth } = draft;
  const tokenUrlProblem = problemOf('auth/token_url');
  return (
    <>
      <SelectField
        label="Authorization"
        value={auth}
        onChange={(event) => {
          onChange({ auth: event.target.value as DeliveryDraft['auth'] });
        }}
        error={tokenUrlProblem === undefined ? problemOf('auth') : undefined}
      >
        {shown.auth_type !== null && <option value="unchanged">Unchanged ({shown.auth_type})</option>}
        <option value="none">None</option>
        <option value="basic">Basic</option>
        <option value="bearer">Bearer</option>
        <option value="oauth2">OAuth 2 (client credentials)</option>
      </SelectField>
      {auth === 'oauth2' && (
        <TextField
          label="Token URL"
          type="url"
          className="mono"
          placeholder="https://id.example.com/oauth2/token"
          value={draft.tokenUrl}
          onChange={(event) => {
            onChange({ tokenUrl: event.target.value });
          }}
          hint={`${words().service} fetches a token there, and sends it with each push until it expires.`}
          error={tokenUrlProblem}
        />
      )}
      {auth !== 'unchanged' && auth !== 'none' && (
        <div className="columns-2">
          {auth !== 'bearer' && (
            <TextField
              label={NAMES[auth]}
              autoComplete="off"
              value={draft.username}
              onChange={(event) => {
                onChange({ username: event.target.value });
              }}
            />
          )}
          <TextField
            label={SECRETS[auth]}
            type="password"
            autoComplete="new-password"
            value={draft.secret}
            onChange={(event) => {
              onChange({ secret: event.target.value });
            }}
          />
        </div>
      )}
      {auth === 'oauth2' && (
        <>
          <div className="columns-2">
            <TextField
              label="Scope (optional)"
              value={draft.scope}
              onChange={(event) => {
                onChange({ scope: event.target.value });
              }}
            />
            <TextField
              label="Audience (optional)"
              value={draft.audience}
              onChange={(event) => {
                onChange({ audience: event.target.value });
              }}
            />
          </div>
          <Checkbox
            checked={draft.isSecretInBody}
            onChange={(event) => {
              onChange({ isSecretInBody: event.target.checked });
            }}
            hint="For token endpoints that do not accept it in the Authorization header."
          >
            Send the client secret in the body
          </Checkbox>
        </>
      )}
    </>
  );
}
