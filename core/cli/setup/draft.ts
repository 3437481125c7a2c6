// The configuration before it is written: its text, checked by the rules of `check`.
import { chmodSync, copyFileSync, existsSync } from 'node:fs'
import { ConfigError, type ConfigProblem, describeProblem } from '../../config/config-error.ts'
import { createFirstText, createToken, writeFirstText } from '../../config/file/first-run.ts'
import { readConfigText } from '../../config/file/read.ts'
import { resolveConfig } from '../../config/resolve.ts'
import type { Config } from '../../config/schema/schema.ts'
import { isRecord } from '../../config/walk.ts'
import { findWarnings } from '../../findings.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Changes, SetupContext } from './context.ts'

export interface Draft {
  text: string
  config: Config
  warnings: ConfigProblem[]
}

/** @throws {CommandError} if the answers do not make a valid configuration. */
export async function createDraft(changes: Changes, context: SetupContext): Promise<Draft> {
  const { file, extensions, localServers, env } = context
  const tokens = { gatewayToken: createToken(), hookToken: createToken() }
  const text = createFirstText(tokens, { localServers, changes })
  try {
    const resolved = resolveConfig(readConfigText({ file, text, mode: 0o600, env }), extensions)
    return { text, config: resolved.config, warnings: await findWarnings(resolved, { extensions }) }
  } catch (error) {
    throw error instanceof ConfigError ? explain(error) : error
  }
}

/** There is no file yet, so lines would name nothing. */
function explain({ problems }: ConfigError): CommandError {
  const sentences = problems.map(({ line: _line, path, problem, ...rest }) =>
    describeProblem({
      ...rest,
      path,
      problem: problem === 'is required' ? `${problem}; add --set ${path}=…` : problem,
    }),
  )
  const [only] = sentences
  return new CommandError(
    sentences.length === 1
      ? `The configuration would not be valid, so nothing was written: ${only}${only?.endsWith('?') ? '' : '.'}`
      : ['The configuration would not be valid, so nothing was written:', ...sentences].join('\n  '),
  )
}

/** Merges sections; other values of `changes` replace those of `base`. */
export function mergeChanges(base: Changes, changes: Changes): Changes {
  const merged = Object.entries(changes).map(([key, value]) => {
    const before = Object.hasOwn(base, key) ? base[key] : undefined
    return [key, isRecord(before) && isRecord(value) ? mergeChanges(before, value) : value] as const
  })
  return { ...base, ...Object.fromEntries(merged) }
}

/** Returns the name of the copy, if there was a file. */
export function writeDraft(file: string, text: string, force: boolean): string | undefined {
  const kept = force && existsSync(file) ? keep(file) : undefined
  writeFirstText(file, text, { force })
  return kept
}

function keep(file: string): string {
  const copy = `${file}.before-setup-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  try {
    copyFileSync(file, copy)
    chmodSync(copy, 0o600)
    return copy
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(file, [{ path: '', problem: `cannot be kept as ${copy} (${code}), so it is not replaced` }])
  }
}
