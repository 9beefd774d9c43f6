/**
 * Whether staff alerts may be mailed to the address.
 * @param domains in lower case; none for any
 */
export function mayBeMailed(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}
