import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { apiKeysQuery } from '../api/queries.js';

/** Returns the names of the organization's keys by id. It needs the scope `keys:write`. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const { data: keys } = useQuery(apiKeysQuery());
  return useMemo(() => new Map(keys?.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const]))), [keys]);
}
