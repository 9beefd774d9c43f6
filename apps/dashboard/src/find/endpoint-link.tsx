import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { endpointQuery } from '../api/queries.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { Name } from '../ui/name.js';

/** Leads to an endpoint, by its name once that is known. */
export function EndpointLink({ id }: { readonly id: string }) {
  const { data: endpoint } = useQuery(endpointQuery(id));
  return (
    <Link to="/endpoints/$endpointId" params={{ endpointId: id }}>
      <Name>{endpoint === undefined ? id : endpointTitle(endpoint)}</Name>
    </Link>
  );
}
