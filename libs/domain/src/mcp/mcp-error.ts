/** The error codes of JSON-RPC and of the MCP Events extension that Gapless answers with. */
export const MCP_ERROR_CODES = {
  InvalidParams: -32_602,
  InternalError: -32_603,
  NotFound: -32_023,
  Forbidden: -32_024,
  ResourceExhausted: -32_025,
  Unsupported: -32_026,
  CallbackEndpointError: -32_027,
} as const;

export type McpErrorName = keyof typeof MCP_ERROR_CODES;

/** An error as it is sent: in a response, or when a subscription ends. */
export interface McpError {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Returns the error as it is sent. `detail` is shown to the caller. */
export function mcpError(name: McpErrorName, detail: string, data: Readonly<Record<string, unknown>> = {}): McpError {
  return { code: MCP_ERROR_CODES[name], message: `${name}: ${detail}`, data };
}
