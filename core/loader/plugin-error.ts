// Describes an error of a plugin for the log, so that its author finds the cause. The log removes configured secrets.

interface PluginError {
  /** The class of the error. */
  error: string
  /** Its message. */
  reason?: string
  /** The first line of the stack that is the plugin's own. */
  at?: string
  cause?: string
}

const maxMessageLength = 500
const maxCauses = 3

export function describePluginError(error: unknown): PluginError {
  if (!(error instanceof Error)) return { error: error === null ? 'null' : typeof error }
  const at = placeOf(error)
  const cause = causesOf(error).join(' ← ')
  return {
    error: error.constructor.name,
    reason: error.message.slice(0, maxMessageLength).toWellFormed(),
    ...(at !== undefined && { at }),
    ...(cause && { cause }),
  }
}

function placeOf({ stack = '', message }: Error): string | undefined {
  const start = stack.indexOf(message)
  const lines = stack.slice(Math.max(start, 0) + message.length).match(/(?<=^\s+at ).+$/gm) ?? []
  return lines.find((line) => !/node_modules|\(?node:/.test(line)) ?? lines[0]
}

function causesOf({ cause }: Error): string[] {
  const causes: string[] = []
  for (let current = cause; current instanceof Error && causes.length < maxCauses; current = current.cause)
    causes.push(`${current.constructor.name}: ${current.message}`.slice(0, maxMessageLength).toWellFormed())
  return causes
}
