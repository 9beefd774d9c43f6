import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { TextArea, TextField } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { useNow } from '../time/use-now.js';
import { checkSignature, type SignatureReport } from './check-signature.js';
import './signature-checker.css';

interface SignatureCheckerProps {
  readonly header: string;
  readonly body: string;
}

/** Shows whether a push verifies, and why not. The secret stays in the browser. */
export function SignatureChecker({ header: sentHeader, body: sentBody }: SignatureCheckerProps) {
  const [secret, setSecret] = useState('');
  const [header, setHeader] = useState(sentHeader);
  const [body, setBody] = useState(sentBody);
  const minute = useNow(10_000);
  const isPossible = globalThis.isSecureContext;
  const { data: report } = useQuery({
    queryKey: ['signature', secret, header, body, minute],
    queryFn: () => checkSignature({ secret, header, body }, minute),
    enabled: isPossible && secret !== '',
    gcTime: 0,
    placeholderData: (previous) => previous,
  });
  return (
    <div className="stack">
      <TextField
        label="Secret"
        type="password"
        className="mono"
        placeholder="whsec_…"
        autoComplete="off"
        spellCheck={false}
        value={secret}
        disabled={!isPossible}
        onChange={(event) => {
          setSecret(event.target.value);
        }}
        hint={
          isPossible
            ? 'Your browser computes it. The secret is neither sent nor stored.'
            : 'Browsers compute signatures only on https and on localhost. Open this page there.'
        }
      />
      <TextField
        label="X-Service-Signature"
        className="mono"
        spellCheck={false}
        value={header}
        onChange={(event) => {
          setHeader(event.target.value);
        }}
      />
      <TextArea
        label="Raw body"
        className="mono signature-body"
        rows={5}
        spellCheck={false}
        value={body}
        onChange={(event) => {
          setBody(event.target.value);
        }}
        hint="The body as it was sent. Paste the body that your receiver got to see the difference."
      />
      <div aria-live="polite">{secret !== '' && report !== undefined && <Verdict report={report} />}</div>
    </div>
  );
}

const MARKS = { pass: 'check', fail: 'cross', warn: 'warning' } as const;

function Verdict({ report }: { readonly report: SignatureReport }) {
  return (
    <div className={`verdict verdict-${report.isValid ? 'pass' : 'fail'}`}>
      <p className="verdict-title">{report.isValid ? 'Verifies' : 'Does not verify'}</p>
      <ul>
        {report.steps.map(({ verdict, text }) => (
          <li key={text} className={`verdict-step verdict-step-${verdict}`}>
            <Icon name={MARKS[verdict]} size={14} />
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
