import type { JsonObject } from '#libs/domain';
import { Checked, type MemberRule } from '../http/checked.decorator.js';
import {
  absentOrNull,
  aNameOf,
  anArrayOf,
  anObjectOf,
  aTextOf,
  described,
  problem,
  required,
} from '../http/member-rules.js';
import { memberPointer } from '../http/validation-error.js';
import { aWidgetId } from '../webhooks/webhook-members.js';

const MAX_WIDGETS = 1_000;
const MAX_METADATA = 50;
const MAX_METADATA_NAME = 40;
const MAX_METADATA_TEXT = 500;

const orgName = aNameOf(120);

const widgets = anArrayOf(anObjectOf({ id: required(aWidgetId), name: required(orgName) }), {
  maxItems: MAX_WIDGETS,
  of: 'widgets',
});

/** Widgets without repeats. Spellings of an id that differ only in case are the same id. */
const someWidgets: MemberRule = {
  schema: widgets.schema,
  check: (value) => {
    const found = widgets.check(value);
    if (found.length > 0 || !Array.isArray(value)) return found;
    const seen = new Set<string>();
    return value.flatMap(({ id }: { readonly id: string }, index) => {
      const isRepeated = seen.has(id.toLowerCase());
      seen.add(id.toLowerCase());
      return isRepeated ? [problem('not_allowed', 'is there already', `/${index}/id`)] : [];
    });
  },
};

const metadataName = aNameOf(MAX_METADATA_NAME);
const metadataText = aTextOf(MAX_METADATA_TEXT);

const someMetadata: MemberRule = {
  schema: {
    type: 'object',
    maxProperties: MAX_METADATA,
    propertyNames: metadataName.schema,
    additionalProperties: metadataText.schema,
  } satisfies JsonObject,
  check: (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return [problem('wrong_type', 'must be an object of texts')];
    }
    const entries = Object.entries(value);
    if (entries.length > MAX_METADATA) return [problem('out_of_range', `must have at most ${MAX_METADATA} members`)];
    return entries.flatMap(([name, text]) => [
      ...metadataName.check(name).map((one) => ({ ...one, detail: `a name ${one.detail}` })),
      ...metadataText.check(text).map((one) => ({ ...one, pointer: memberPointer(name).slice(1) })),
    ]);
  },
};

/** The body of `PUT /internal/orgs/:orgId`. */
export class PutOrgDto {
  @Checked(required(orgName))
  readonly name!: string;

  @Checked(absentOrNull(described(someWidgets, { description: 'The names of widgets for display.' })))
  readonly widgets?: readonly { readonly id: string; readonly name: string }[] | null;

  @Checked(absentOrNull(described(someMetadata, { description: 'Texts of your own, which Gapless does not read.' })))
  readonly metadata?: Readonly<Record<string, string>> | null;
}
