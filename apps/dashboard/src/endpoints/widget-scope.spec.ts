import { describe, expect, it } from '@jest/globals';
import { parseWidgetScope, widgetScopeDraft } from './widget-scope.js';

const [SHOP, BLOG] = ['0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21', '7b3e1a90-55d1-4c3e-8f5a-2f6de0a1b9c4'];

describe('a widget scope', () => {
  it.each([{ widgetIds: null }, { widgetIds: [] }, { widgetIds: [SHOP, BLOG] }])(
    'of $widgetIds comes out of the form as it went in',
    ({ widgetIds }) => {
      expect(parseWidgetScope(widgetScopeDraft(widgetIds))).toEqual({ kind: 'ok', widgetIds });
    },
  );

  it('is typed with spaces, commas or lines in between, and names a widget once', () => {
    const text = `${SHOP}, ${BLOG}\n\n ${SHOP}`;
    expect(parseWidgetScope({ kind: 'some', text })).toEqual({ kind: 'ok', widgetIds: [SHOP, BLOG] });
  });

  it('says which id is not one', () => {
    expect(parseWidgetScope({ kind: 'some', text: `${SHOP} shop` })).toMatchObject({
      kind: 'wrong',
      reason: expect.stringContaining('“shop”') as unknown,
    });
  });

  it('of some widgets names at least one: none is a choice of its own', () => {
    expect(parseWidgetScope({ kind: 'some', text: ' ' })).toMatchObject({ kind: 'wrong' });
  });
});
