/** An event of a stream. */
export interface StreamedEvent {
  readonly type: string;
  readonly data: string;
  readonly lastEventId: string;
}

/** Parses `text/event-stream` as the HTML standard has it, in pieces that end anywhere. */
export class EventStreamParser {
  #rest = '';
  #type = '';
  #data: string[] = [];
  #lastEventId = '';

  constructor(private readonly onEvent: (event: StreamedEvent) => void) {}

  take(text: string): void {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line: string): void {
    if (line === '') {
      if (this.#data.length > 0) {
        this.onEvent({ type: this.#type || 'message', data: this.#data.join('\n'), lastEventId: this.#lastEventId });
      }
      this.#type = '';
      this.#data = [];
      return;
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'event') this.#type = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#lastEventId = value;
  }
}
