import { describe, expect, it } from '@jest/globals';
import type { Endpoint } from '../api/resources.js';
import { parseEndpointSearch } from './endpoint-search.js';
import { filteredEndpoints } from './filtered-endpoints.js';

const BASE = { description: null, is_active: true, failure_count: 0, last_triggered_at: null };
const crm = { ...BASE, id: 'whe_1', name: 'CRM sync', url: 'https://crm.example.com/in' } as Endpoint;
const pager = { ...BASE, id: 'whe_2', name: null, url: 'https://pager.example.com/', is_active: false } as Endpoint;

describe('the filter of endpoints', () => {
  it.each([
    [{}, [crm, pager]],
    [{ text: 'crm' }, [crm]],
    [{ text: 'example.com' }, [crm, pager]],
    [{ health: 'paused' }, [pager]],
    [{ health: 'paused', text: 'crm' }, []],
  ] as const)('%j', (filter, listed) => {
    expect(filteredEndpoints([crm, pager], undefined, filter)).toEqual(listed);
  });

  it('is read from an address', () => {
    expect(parseEndpointSearch({ health: 'failing', text: 'CRM' })).toEqual({ health: 'failing', text: 'CRM' });
    expect(parseEndpointSearch({ health: 'ill', text: 42 })).toEqual({ text: '42' });
    expect(parseEndpointSearch({ text: '' })).toEqual({});
  });
});
