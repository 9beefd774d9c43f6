/** Whether the url may become a link. It comes from a producer, and `javascript:` would run in the dashboard. */
export function isWebUrl(text: string): boolean {
  return URL.canParse(text) && ['https:', 'http:'].includes(new URL(text).protocol);
}
