import { Checkbox, TextArea } from '../../ui/field.js';
import type { DeliveryDraft, ShownDelivery } from './delivery-draft.js';
import { certificateText } from './delivery-facts.js';

interface CertificateFieldsProps {
  readonly draft: DeliveryDraft;
  readonly shown: ShownDelivery;
  readonly onChange: (part: Partial<DeliveryDraft>) => void;
  readonly problemOf: (member: string) => string | undefined;
}

/** What pushes present in the TLS handshake. */
export function CertificateFields({ draft, shown, onChange, problemOf }: CertificateFieldsProps) {
  const { client_certificate: current } = shown;
  const keyProblem = problemOf('client_certificate/private_key');
  const isReplaced = draft.certificate.trim() !== '';
  return (
    <>
      <TextArea
        label="Client certificate"
        rows={2}
        className="mono"
        placeholder="-----BEGIN CERTIFICATE-----"
        value={draft.certificate}
        onChange={(event) => {
          onChange({ certificate: event.target.value });
        }}
        hint={
          current === null
            ? 'PEM, with those of its chain after it. For receivers that require one in the TLS handshake.'
            : `Presented now: ${certificateText(current)}.`
        }
        error={keyProblem === undefined ? problemOf('client_certificate') : undefined}
      />
      {isReplaced && (
        <TextArea
          label="Private key"
          rows={2}
          className="mono"
          autoComplete="off"
          placeholder="-----BEGIN PRIVATE KEY-----"
          value={draft.privateKey}
          onChange={(event) => {
            onChange({ privateKey: event.target.value });
          }}
          hint="PEM, not encrypted. It is never shown again."
          error={keyProblem}
        />
      )}
      {current !== null && (
        <Checkbox
          checked={draft.removesCertificate && !isReplaced}
          disabled={isReplaced}
          onChange={(event) => {
            onChange({ removesCertificate: event.target.checked });
          }}
        >
          Present no client certificate any more
        </Checkbox>
      )}
    </>
  );
}
