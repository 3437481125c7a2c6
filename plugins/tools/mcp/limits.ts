// Limits for MCP servers, which may be broken or malicious.

/** Longest message, in bytes. A longer one ends the connection. */
export const maxMessageBytes = 10 * 1024 * 1024

/** How many tools one server may have. */
export const maxTools = 200

/** Longest description of a tool, and of one of its arguments, in characters. Longer ones are cut. */
export const maxDescription = 1000
export const maxArgDescription = 500

/** Longest entry of a tool list, and longest arguments schema, as JSON. A tool with more is left out. */
export const maxToolLength = 65_536
export const maxSchemaLength = 32_768

/** Largest schema: its parts, list entries and strings. */
export const maxSchemaWork = 5000
export const maxSchemaDepth = 32

/** Longest error message of a tool that the caller gets, in characters. */
export const maxErrorText = 2000

/**
 * Longest time to connect (the first start of a program may download it) and to list the tools.
 */
export const connectMs = 60_000
export const listMs = 30_000

/**
 * Shortest time between two lists of tools, however often a server reports that its tools have changed.
 */
export const refreshPauseMs = 3000
