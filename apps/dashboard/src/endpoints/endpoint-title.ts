/** What an endpoint is called: its name, or else where it is. */
export function endpointTitle({ name, url }: { readonly name: string | null; readonly url: string }): string {
  return name ?? hostOf(url);
}

export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
