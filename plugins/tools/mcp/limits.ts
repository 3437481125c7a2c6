// How much of an MCP server is taken: it may be broken, or mean ill.

/** Longest message, in bytes: a longer one ends the connection. */
export const maxMessageBytes = 10 * 1024 * 1024

/** Most tools of one server. */
export const maxTools = 200

/** Longest description of a tool, and of one of its arguments, in characters: what is longer is cut. */
export const maxDescription = 1000
export const maxArgDescription = 500

/** Longest tool in a server's list, and longest schema of arguments, as JSON. A tool with more is left out. */
export const maxToolLength = 65_536
export const maxSchemaLength = 32_768

/** Most work that a schema may cause: parts, entries of lists, pieces of text. */
export const maxSchemaWork = 5000
export const maxSchemaDepth = 32

/** Longest error that a server's tool can tell the caller, in characters. */
export const maxErrorText = 2000

/**
 * Longest time for a connection to be made (the first start of a program may have to download it), and for a list of
 * tools, in milliseconds.
 */
export const connectMs = 60_000
export const listMs = 30_000

/**
 * Shortest pause between two lists of tools, in milliseconds, however often a server says that its tools have changed.
 */
export const refreshPauseMs = 3000

/**
 * Pauses between two attempts to connect, in milliseconds: the first and the longest. A connection that lasted
 * `steadyMs` begins anew.
 */
export const firstPauseMs = 1000
export const longestPauseMs = 300_000
export const steadyMs = 60_000
