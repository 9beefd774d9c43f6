import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, dataOf, done } from '../api/client.js';
import { reportLeaving } from '../api/follow-changes.js';
import type { EndpointChange, NewEndpoint, Recovery } from '../api/resources.js';
import type { SubmittedEndpoint } from './endpoint-draft.js';

/** Requests everything again that shows endpoints or their deliveries. */
function useRefresh() {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['endpoints'] }),
      queries.invalidateQueries({ queryKey: ['overview'] }),
    ]);
}

export function useCreateEndpoint() {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (endpoint: SubmittedEndpoint) =>
      // The form submits headers without a value only to remove them, and a new endpoint has none.
      dataOf(api.POST('/api/v1/external/webhooks', { body: endpoint as NewEndpoint })),
    onSuccess: () => {
      void refresh();
    },
  });
}

export function useChangeEndpoint(id: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (body: EndpointChange) =>
      dataOf(api.PATCH('/api/v1/external/webhooks/{id}', { params: { path: { id } }, body })),
    onSuccess: refresh,
  });
}

export function useDeleteEndpoint(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => done(api.DELETE('/api/v1/external/webhooks/{id}', { params: { path: { id } } })),
    onMutate: () => {
      reportLeaving(id, true);
    },
    onError: () => {
      reportLeaving(id, false);
    },
    onSuccess: () => {
      // Its page is left at once, and would request data again that is removed before that.
      void queries.invalidateQueries({ queryKey: ['endpoints'], exact: true });
    },
  });
}

export function useRotateSecret(id: string) {
  return useMutation({
    mutationFn: (overlapSeconds: number) =>
      dataOf(
        api.POST('/api/v1/external/webhooks/{id}/rotate-secret', {
          params: { path: { id } },
          ...(overlapSeconds === 0 ? {} : { body: { overlap_seconds: overlapSeconds } }),
        }),
      ),
  });
}

export function useStopPreviousSecret(id: string) {
  return useMutation({
    mutationFn: () => done(api.DELETE('/api/v1/external/webhooks/{id}/previous-secret', { params: { path: { id } } })),
  });
}

export function useTestEndpoint(id: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: () => dataOf(api.POST('/api/v1/external/webhooks/{id}/test', { params: { path: { id } } })),
    onSuccess: () => {
      void refresh();
    },
  });
}

export function useReplay(id: string, deliveryId: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: () =>
      dataOf(
        api.POST('/api/v1/external/webhooks/{id}/deliveries/{deliveryId}/replay', {
          params: { path: { id, deliveryId } },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useSkip(id: string, deliveryId: string) {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: () =>
      dataOf(
        api.POST('/api/v1/external/webhooks/{id}/deliveries/{deliveryId}/skip', {
          params: { path: { id, deliveryId } },
        }),
      ),
    onSuccess: refresh,
  });
}

export function recover(id: string, body: Recovery) {
  return dataOf(api.POST('/api/v1/external/webhooks/{id}/recover', { params: { path: { id } }, body }));
}

export function recovery(id: string, recoveryId: string) {
  const params = { path: { id, recoveryId } };
  return dataOf(api.GET('/api/v1/external/webhooks/{id}/recoveries/{recoveryId}', { params }));
}

export function stopRecovery(id: string, recoveryId: string) {
  const params = { path: { id, recoveryId } };
  return dataOf(api.DELETE('/api/v1/external/webhooks/{id}/recoveries/{recoveryId}', { params }));
}

export function useRecover(id: string) {
  const refresh = useRefresh();
  return useMutation({ mutationFn: (body: Recovery) => recover(id, body), onSuccess: refresh });
}
