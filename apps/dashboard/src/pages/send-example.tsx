import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../api/client.js';
import { endpointsQuery } from '../api/queries.js';
import type { EventType } from '../api/resources.js';
import { textOf } from '../endpoints/endpoint-draft.js';
import { TestResult } from '../endpoints/test-result.js';
import { useScope } from '../session/use-session.js';
import { Button } from '../ui/button.js';
import { SelectField } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';

type ExampleType = Exclude<
  EventType['event'],
  'test' | 'lead.captured' | 'endpoint.failing' | 'endpoint.disabled' | 'endpoint.enabled' | 'delivery.exhausted'
>;

function hasSendableExample(type: EventType): type is EventType & { readonly event: ExampleType } {
  return type.event !== 'test' && !type.deprecated && !type.operational;
}

/** Sends the example of the type to an endpoint of the reader's choice. */
export function SendExample({ type }: { readonly type: EventType }) {
  const mayRead = useScope('webhooks:read');
  const mayWrite = useScope('webhooks:write');
  return mayRead && mayWrite && hasSendableExample(type) ? <Sending event={type.event} /> : null;
}

function Sending({ event }: { readonly event: ExampleType }) {
  const { data: endpoints } = useQuery(endpointsQuery());
  const active = endpoints?.filter(({ is_active }) => is_active) ?? [];
  const [chosen, setChosen] = useState<string>();
  const endpointId = chosen ?? active[0]?.id;
  const sending = useMutation({
    mutationFn: async (id: string) => {
      const delivery = await dataOf(
        api.POST('/api/v1/external/webhooks/{id}/send-example', { params: { path: { id } }, body: { event } }),
      );
      return { id, deliveryId: delivery.id };
    },
  });
  if (endpoints === undefined) return null;
  if (endpointId === undefined) return <p className="catalog-send muted">Examples can be sent to active endpoints.</p>;
  return (
    <div className="catalog-send">
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault();
          sending.mutate(endpointId);
        }}
      >
        <SelectField
          label="Send this example to"
          hint="It is an event of this type, in the feed too. Its id starts with evt_EXAMPLE."
          value={endpointId}
          onChange={({ target }) => {
            setChosen(target.value);
          }}
        >
          {active.map(({ id, name, url }) => (
            <option key={id} value={id}>
              {textOf(name) ?? url}
            </option>
          ))}
        </SelectField>
        <Button type="submit" icon="send" busy={sending.isPending}>
          Send an example
        </Button>
      </form>
      {sending.error !== null && <FailureNotice error={sending.error} />}
      {sending.data !== undefined && <TestResult endpointId={sending.data.id} deliveryId={sending.data.deliveryId} />}
    </div>
  );
}
