// The descriptions of tools as texts from outside: which service has written them, and which tools they leave to a turn.
import type { RegisteredTool } from './registry.ts'

/** The source of a description. */
export const describerOf = ({ tool: { service }, toolset }: RegisteredTool): string =>
  `the tool descriptions of ${toolset}${service === undefined ? '' : ` ${service}`}`

/** Whether all of the texts from outside are descriptions of the service that provides the tool. */
export const areOwnDescriptions = (outside: readonly string[], entry: RegisteredTool): boolean =>
  outside.length > 0 && outside.every((source) => source === describerOf(entry))

/** Whether all of the texts from outside are descriptions of tools. */
export const areDescriptions = (outside: readonly string[]): boolean =>
  outside.length > 0 && outside.every((source) => source.startsWith('the tool descriptions of '))
