import { useWidgetNames } from './use-widget-names.js';

/** A widget's name, with its id as the tooltip; its id if it has no name. */
export function WidgetName({ id }: { readonly id: string }) {
  const name = useWidgetNames().get(id);
  return name === undefined ? <code>{id}</code> : <bdi title={id}>{name}</bdi>;
}
