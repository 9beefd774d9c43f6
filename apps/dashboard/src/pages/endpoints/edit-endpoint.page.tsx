import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { endpointQuery } from '../../api/queries.js';
import { EndpointForm } from '../../endpoints/endpoint-form.js';
import { useChangeEndpoint } from '../../endpoints/endpoint-changes.js';
import { endpointTitle } from '../../endpoints/endpoint-title.js';
import { ButtonLink } from '../../ui/button.js';
import { FailureNotice } from '../../ui/notice.js';
import { PageHeader } from '../../ui/page-header.js';
import { SkeletonBlock } from '../../ui/skeleton.js';
import { toastDone } from '../../ui/toast-queue.js';

const route = getRouteApi('/inside/endpoints/$endpointId/edit');

export function EditEndpointPage() {
  const { endpointId } = route.useParams();
  return <EditEndpoint key={endpointId} endpointId={endpointId} />;
}

function EditEndpoint({ endpointId }: { readonly endpointId: string }) {
  const navigate = useNavigate();
  const { data: endpoint, error, refetch } = useQuery(endpointQuery(endpointId));
  const changing = useChangeEndpoint(endpointId);
  const page = { to: '/endpoints/$endpointId', params: { endpointId } } as const;
  return (
    <>
      <PageHeader
        title="Edit endpoint"
        back={{ link: page, text: endpoint === undefined ? 'Endpoint' : endpointTitle(endpoint) }}
      />
      {endpoint === undefined ? (
        error === null ? (
          <SkeletonBlock height="44rem" />
        ) : (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <EndpointForm
          initial={endpoint}
          submitText="Save"
          busy={changing.isPending}
          failure={changing.error}
          cancel={<ButtonLink {...page}>Cancel</ButtonLink>}
          onSubmit={(_endpoint, changes) => {
            changing.mutate(changes, {
              onSuccess: () => {
                toastDone('Endpoint saved');
                void navigate(page);
              },
            });
          }}
        />
      )}
    </>
  );
}
