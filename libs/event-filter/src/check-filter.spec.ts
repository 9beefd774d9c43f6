import { describe, expect, it } from '@jest/globals';
import { checkFilter } from './check-filter.js';

const TICKETS = ['ticket.created'];
const QUEUED = ['conversation.queued'];
const LEADS = ['lead.created'];

function detailOf(text: string, events: readonly string[]): string | undefined {
  const problem = checkFilter(text, events);
  return problem === undefined ? undefined : `${problem.offset}: ${problem.detail}`;
}

describe('a filter that may be registered', () => {
  it.each([
    ['event.data.priority == "urgent"', TICKETS],
    ['event.data["priority"] in ["urgent", "high"] && event.widget_id != null', TICKETS],
    ['event.data.requester.email.endsWith("@example.com")', TICKETS],
    ['event.data.tags.exists(tag, tag == "vip")', TICKETS],
    ['size(event.data.items.filter(item, item.price > 100)) >= 2', TICKETS],
    ['event.seq % 10 == 0', TICKETS],
    ['event.data.conversation.waited_seconds > 60 && event.data.stage == 1', QUEUED],
    ['event.data.visitor.country in ["DE", "AT"]', QUEUED],
    ['event.data.department == null || event.data.department.name == "Sales"', QUEUED],
    ['event.occurred_at >= "2026-01-01T00:00:00.000Z"', QUEUED],
    ['event.data.email == null', LEADS],
    // A member that the catalog does not list.
    ['has(event.data.plan) && event.data.plan == "pro"', LEADS],
    ['!has(event.data.plan) || event.data.plan == "pro"', LEADS],
    ['has(event.data.plan) ? event.data.plan == "pro" : false', LEADS],
    // Members of some of the types.
    ['event.event != "lead.created" || event.data.source == "telegram"', [...LEADS, ...QUEUED]],
    ['event.event == "lead.created" ? event.data.source == "api" : event.data.stage == 1', [...LEADS, ...QUEUED]],
    ['event.event in ["lead.created"] && event.data.source == "api"', [...LEADS, ...QUEUED]],
    ['event.event.startsWith("conversation.") && event.data.stage == 1', [...LEADS, ...QUEUED]],
    ['has(event.data.source) && event.data.source == "api"', [...LEADS, ...QUEUED]],
  ])('is %s for %j', (text, events) => {
    expect(detailOf(text, events)).toBeUndefined();
  });
});

describe('a filter that is refused', () => {
  it.each([
    ['that does not parse', 'event.data.priority ==', TICKETS, /^22: Unexpected token: EOF/],
    ['that is empty', '', TICKETS, /^0: /],
    ['with another variable', 'data.priority == "urgent"', TICKETS, /^0: there is no "data"/],
    ['that is not a bool', 'event.seq + 1', TICKETS, /must be a bool|not a bool/],
    ['whose type is unknown', 'event.data.flag', TICKETS, /Compare it/],
    ['with an unknown member', 'event.data.conversation.subjekt == "a"', QUEUED, /^24: .*no member "subjekt"/],
    ['with an unknown member of the envelope', 'event.type == "a"', QUEUED, /^6: .*An event has id, seq/],
    ['that asks for an unknown member of the envelope', 'has(event.kind) && true', QUEUED, /no member "kind"/],
    ['with a member that must not be there', 'event.data.stage == 1', ['conversation.picked_up'], /"stage"/],
    ['that compares a number with a text', 'event.data.stage == "1"', QUEUED, /no such overload/],
    ['that compares a text with a number', 'event.org_id > 5', QUEUED, /no such overload/],
    ['that is not for one of its types', 'event.data.source == "api"', [...LEADS, ...QUEUED], /conversation.queued/],
    ['that asks too late', 'event.data.plan == "pro" || has(event.data.plan)', LEADS, /no member "plan"/],
    ['that asks in a wrong object', 'has(event.data.talk.id) && true', QUEUED, /no member "talk"/],
    ['with a regular expression', 'event.data.subject.matches("(a+)+$")', TICKETS, /regular expressions/],
    ['with a text of the event to search for', 'event.data.a.contains(event.data.b)', TICKETS, /in quotes/],
    ['with an unknown function', 'event.data.a.split(",") == ["b"]', TICKETS, /no function "split"/],
    ['with a macro in a macro', 'event.data.a.all(x, event.data.b.all(y, x == y))', TICKETS, /inside of another/],
    ['with a macro after a macro', 'event.data.a.filter(x, x > 1).all(y, y > 2)', TICKETS, /takes a list of the event/],
    ['with a macro over a written list', '[1, 2].all(x, x > 0)', TICKETS, /takes a list of the event/],
    ['that hides the event', 'event.data.a.all(event, true)', TICKETS, /new name/],
    ['with bind', 'cel.bind(x, event.data, x == x)', TICKETS, /no "cel"|no function "bind"/],
    ['with a map', '{"a": 1} == event.data', TICKETS, /maps are not available/],
    ['with bytes', 'b"a" == event.data.a', TICKETS, /bytes/],
    ['with a huge exponent', 'event.seq < 1e999', TICKETS, /Invalid number/],
    ['with a type', 'type(event.seq) == int', TICKETS, /no function "type"|no "int"/],
  ])('is one %s', (_what, text, events, detail) => {
    expect(detailOf(text, events)).toMatch(detail);
  });
});
