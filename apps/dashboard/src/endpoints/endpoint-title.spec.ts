import { describe, expect, it } from '@jest/globals';
import { endpointTitle, isTitleTyped } from './endpoint-title.js';

describe('the title of an endpoint', () => {
  it.each([null, '', ' ', '\u00a0\u3000'])('is its host if its name is %j', (name) => {
    expect(endpointTitle({ name, url: 'https://crm.example.com:8443/hook' })).toBe('crm.example.com:8443');
  });

  it('is its name otherwise', () => {
    expect(endpointTitle({ name: ' CRM', url: 'https://crm.example.com/' })).toBe(' CRM');
  });
});

describe('a title to type', () => {
  it.each(['CRM  sync', ' CRM sync ', 'CRM\u00a0sync', 'CRM\u2003sync'])('is typed as it is seen: %j', (title) => {
    expect(isTitleTyped('CRM sync', title)).toBe(true);
    expect(isTitleTyped(title, title)).toBe(true);
  });

  it('may have its letters in other codes', () => {
    expect(isTitleTyped('Café', 'Cafe\u0301')).toBe(true);
  });

  it.each(['', 'CRM', 'CRMsync', 'crm sync', 'CRM sync 2'])('is not typed by %j', (typed) => {
    expect(isTitleTyped(typed, 'CRM sync')).toBe(false);
  });
});
