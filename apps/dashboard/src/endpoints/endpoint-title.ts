/** Returns the name of an endpoint, or its host if it has no name that shows. */
export function endpointTitle({ name, url }: { readonly name: string | null; readonly url: string }): string {
  return name === null || name.trim() === '' ? hostOf(url) : name;
}

/** Whether somebody who sees the title has typed it. Spaces of all kinds look alike, and so do several codes of a letter. */
export function isTitleTyped(typed: string, title: string): boolean {
  return asSeen(typed) === asSeen(title);
}

function asSeen(text: string): string {
  return text.normalize('NFC').replaceAll(/\s+/gu, ' ').trim();
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
