import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { endpointsQuery } from '../api/queries.js';
import type { Endpoint } from '../api/resources.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { LANGUAGE_COMMANDS, LANGUAGE_NAMES, LANGUAGES } from '../samples/languages.js';
import { receiverSample } from '../samples/receiver-sample.js';
import { useScope } from '../session/use-session.js';
import { Card } from '../ui/card.js';
import { CodeBlock } from '../ui/code-block.js';
import { SelectField } from '../ui/field.js';
import { FailureNotice, Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { SkeletonBlock } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';

const route = getRouteApi('/inside/samples');
const EXAMPLE = { url: 'https://example.com/webhooks/gapless', ordering: { by: 'none', batch: 1 } } as const;

export function SamplesPage() {
  const mayRead = useScope('webhooks:read');
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const {
    data: endpoints,
    error,
    refetch,
  } = useQuery({
    ...endpointsQuery(),
    refetchInterval: false,
    enabled: mayRead,
  });
  const chosen = endpoints?.find(({ id }) => id === search.endpoint) ?? endpoints?.[0];
  return (
    <>
      <PageHeader
        title="Code samples"
        note="A whole receiver that verifies what it is sent, with nothing to install."
        actions={
          mayRead &&
          endpoints?.length !== 0 && (
            <EndpointChoice
              endpoints={endpoints ?? []}
              chosen={chosen?.id}
              onChange={(endpoint) => void navigate({ search: { ...search, endpoint }, replace: true })}
            />
          )
        }
      />
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {endpoints?.length === 0 && (
        <Notice tone="off" icon="endpoint" title="You have no endpoint yet">
          The samples are for an example; with an endpoint of yours they would be for that.
        </Notice>
      )}
      <Card>
        {endpoints === undefined && error === null && mayRead ? (
          <SkeletonBlock height="40rem" />
        ) : (
          <Tabs
            label="Language"
            value={search.language ?? 'node'}
            onChange={(language) =>
              void navigate({ search: { ...search, language }, replace: true, resetScroll: false })
            }
            tabs={LANGUAGES.map((language) => ({
              value: language,
              text: LANGUAGE_NAMES[language],
              content: (
                <CodeBlock
                  text={receiverSample(language, chosen ?? EXAMPLE)}
                  what={`${LANGUAGE_NAMES[language]} sample`}
                  title={LANGUAGE_COMMANDS[language]}
                />
              ),
            }))}
          />
        )}
      </Card>
      <Rules />
    </>
  );
}

interface EndpointChoiceProps {
  readonly endpoints: readonly Endpoint[];
  readonly chosen: string | undefined;
  readonly onChange: (id: string) => void;
}

function EndpointChoice({ endpoints, chosen, onChange }: EndpointChoiceProps) {
  return (
    <SelectField
      label="Endpoint"
      labelHidden
      value={chosen}
      onChange={(event) => {
        onChange(event.target.value);
      }}
    >
      {endpoints.map((endpoint) => (
        <option key={endpoint.id} value={endpoint.id}>
          {endpointTitle(endpoint)}
        </option>
      ))}
    </SelectField>
  );
}

const RULES = [
  [
    'Verify the raw bytes',
    'If you parse the body and print it again, its bytes change and the signature does not match.',
  ],
  ['Refuse pushes older than 300 seconds', 'Then nobody can record a push and send it to you later.'],
  [
    'Answer 2xx within 10 seconds',
    'Do the work afterwards. After any other response, the push is sent again, for about 13 hours.',
  ],
  [
    'Remember the id',
    'The same event can come more than once. If seq jumps, you missed an event. Fetch it from the feed.',
  ],
] as const;

function Rules() {
  return (
    <Card title="How to build a receiver">
      <dl className="columns-2">
        {RULES.map(([rule, why]) => (
          <div key={rule}>
            <dt>
              <strong>{rule}</strong>
            </dt>
            <dd className="muted">{why}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
