const ZERO = /^0(\.0*)?$/;

/**
 * Whether the caller takes server-sent events. A range of quality 0 says what is not wanted (RFC 9110, 12.4.2).
 * @param accept the header `Accept`
 */
export function acceptsStream(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim());
    return type?.toLowerCase() === 'text/event-stream' && !parameters.some(isQualityZero);
  });
}

function isQualityZero(parameter: string): boolean {
  const [name = '', value = '', ...more] = parameter.split('=').map((part) => part.trim());
  return name.toLowerCase() === 'q' && ZERO.test(value) && more.length === 0;
}
