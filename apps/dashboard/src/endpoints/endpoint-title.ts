/** Returns the name of an endpoint, or its host if it has no name. */
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
