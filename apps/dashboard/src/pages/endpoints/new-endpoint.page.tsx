import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { EndpointDraft } from '../../endpoints/endpoint-draft.js';
import { EndpointForm } from '../../endpoints/endpoint-form.js';
import { useCreateEndpoint } from '../../endpoints/endpoint-changes.js';
import { SecretDialog } from '../../endpoints/secret-dialog.js';
import { SECRET_TO_COME, useSecretGuard } from '../../endpoints/use-secret-guard.js';
import type { EndpointWithSecret } from '../../api/resources.js';
import { ButtonLink } from '../../ui/button.js';
import { PageHeader } from '../../ui/page-header.js';

const EMPTY: EndpointDraft = { url: '', name: null, description: null, events: [], widget_ids: null };

export function NewEndpointPage() {
  const navigate = useNavigate();
  const [created, setCreated] = useState<EndpointWithSecret>();
  const creating = useCreateEndpoint();
  useSecretGuard(creating.isPending, SECRET_TO_COME);
  return (
    <>
      <PageHeader title="New endpoint" back={{ link: { to: '/endpoints' }, text: 'Endpoints' }} />
      <EndpointForm
        initial={EMPTY}
        submitText="Create endpoint"
        busy={creating.isPending}
        failure={creating.error}
        cancel={<ButtonLink to="/endpoints">Cancel</ButtonLink>}
        onSubmit={(endpoint) => {
          creating.mutate(endpoint, { onSuccess: setCreated });
        }}
      />
      {created !== undefined && (
        <SecretDialog
          title="Endpoint created"
          what="secret"
          secret={created.secret}
          hint="Every push is signed with this secret. Your receiver needs it to verify pushes."
          onClose={() => void navigate({ to: '/endpoints/$endpointId', params: { endpointId: created.id } })}
        />
      )}
    </>
  );
}
