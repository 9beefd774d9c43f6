/** The part of `EventSource` that pages use. */
export interface EventStream {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(type: string, listener: (message: MessageEvent<string>) => void): void;
  close(): void;
}
