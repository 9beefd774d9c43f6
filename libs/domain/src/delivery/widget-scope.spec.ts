import { describe, expect, it } from '@jest/globals';
import { parseWidgetId } from '../kernel/index.js';
import { inWidgetScope } from './widget-scope.js';

const LISTED = parseWidgetId('11111111-1111-4111-8111-111111111111')!;
const ALSO_LISTED = parseWidgetId('22222222-2222-4222-8222-222222222222')!;
const OTHER = parseWidgetId('33333333-3333-4333-8333-333333333333')!;

/** Contract 7.3. */
describe('inWidgetScope', () => {
  it.each([
    ['null', 'a widget', null, OTHER, true],
    ['null', 'org-wide', null, null, true],
    ['[]', 'a widget', [], OTHER, false],
    ['[]', 'org-wide', [], null, true],
    ['a list', 'its first widget', [LISTED, ALSO_LISTED], LISTED, true],
    ['a list', 'its last widget', [LISTED, ALSO_LISTED], ALSO_LISTED, true],
    ['a list', 'another widget', [LISTED, ALSO_LISTED], OTHER, false],
    ['a list', 'org-wide', [LISTED, ALSO_LISTED], null, true],
  ])('with widget_ids %s, an event of %s', (_scope, _event, scope, widgetId, expected) => {
    expect(inWidgetScope(scope, widgetId)).toBe(expected);
  });
});
