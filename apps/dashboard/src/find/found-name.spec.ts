import { describe, expect, it } from '@jest/globals';
import { foundName } from './found-name.js';

const ID = '01K2Z8Q4T7WJ5M3N9R6XBCDEFG';

describe('a search', () => {
  it.each([
    [`evt_${ID}`, { kind: 'event', id: `evt_${ID}` }],
    [` whd_${ID} `, { kind: 'delivery', id: `whd_${ID}` }],
    [`"endpoint_id":"whe_${ID}",`, { kind: 'endpoint', id: `whe_${ID}` }],
    [`recovery rec_${ID}`, { kind: 'recovery', id: `rec_${ID}` }],
    ['#4128', { kind: 'seq', seq: 4_128 }],
    ['#4,128', { kind: 'seq', seq: 4_128 }],
    ['# 1.004.128', { kind: 'seq', seq: 1_004_128 }],
    [' 48213 ', { kind: 'number', seq: 48_213, text: '48213' }],
    ['4,128', { kind: 'number', seq: 4_128, text: '4,128' }],
    ['4.128', { kind: 'number', seq: 4_128, text: '4.128' }],
    ['10.0.0.1', { kind: 'text', text: '10.0.0.1' }],
    ['1.2.3', { kind: 'text', text: '1.2.3' }],
    ['0', { kind: 'text', text: '0' }],
    ['9'.repeat(20), { kind: 'text', text: '9'.repeat(20) }],
    ['#0', { kind: 'text', text: '#0' }],
    ['evt_short', { kind: 'text', text: 'evt_short' }],
    [' CRM sync ', { kind: 'text', text: 'CRM sync' }],
    [`#${'9'.repeat(20)}`, { kind: 'text', text: `#${'9'.repeat(20)}` }],
    [' ', { kind: 'nothing' }],
  ])('for %j names %j', (text, name) => {
    expect(foundName(text)).toEqual(name);
  });
});
