import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { organizationQuery } from '../api/queries.js';

/** Returns the names of the organization's widgets by id. Widgets that the product has not named are missing. */
export function useWidgetNames(): ReadonlyMap<string, string> {
  const { data } = useQuery(organizationQuery());
  return useMemo(() => new Map(data?.widgets.map(({ id, name }) => [id, name])), [data]);
}
