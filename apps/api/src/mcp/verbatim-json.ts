import { randomUUID } from 'node:crypto';

const LINE_BREAKS = /\r\n|\r|\n/g;

/**
 * Puts JSON texts into a message as they are. A library that prints the message would change number spellings,
 * precision and repeated members. So the message holds a place for each text until it is printed. The name of a place
 * is random: no event can contain it.
 */
export class VerbatimJson {
  readonly #name = randomUUID();
  readonly #place = new RegExp(`"${this.#name}:(\\d+)"`, 'g');
  readonly #texts = new Map<string, string>();
  #count = 0;

  /** Returns the place of the text. The text must be valid JSON. */
  place(json: string): string {
    const number = String(this.#count++);
    // JSON has line breaks only between tokens. In a server-sent event, they would end the field.
    this.#texts.set(number, json.replace(LINE_BREAKS, ' '));
    return `${this.#name}:${number}`;
  }

  /** Returns the printed message with the texts in their places. Each text is used once. */
  restore(printed: string): string {
    if (this.#texts.size === 0) return printed;
    return printed.replace(this.#place, (place, number: string) => {
      const text = this.#texts.get(number);
      this.#texts.delete(number);
      return text ?? place;
    });
  }
}
