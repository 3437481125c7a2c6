// Reads, checks, edits and saves the configuration file for administrators.
import { hash } from 'node:crypto'
import { ConfigError, describeProblem } from '../config/config-error.ts'
import { listDifferences } from '../config/differences.ts'
import { applyEdits } from '../config/file/edits.ts'
import { readConfigText, readText } from '../config/file/read.ts'
import { isWritable, writePrivateFile } from '../config/file/write.ts'
import { keepUntilRestart } from '../config/restart-keys.ts'
import type { Config } from '../config/schema/schema.ts'
import type { ConfigFile } from '../control/config.ts'
import { describeError, GatewayError } from '../errors.ts'
import { findWarnings, resolveForRunning } from '../findings.ts'
import type { Environment } from '../services.ts'
import { dotted } from '../typebox.ts'
import type { ReloadResult, Transforms } from './build-context.ts'

interface ConfigFileDeps extends Environment {
  /** The configuration in use. */
  config: Config
  transforms: Pick<Transforms, 'dir' | 'sandbox'>
  reload(): Promise<ReloadResult>
}

type CheckedText = Awaited<ReturnType<ConfigFile['check']>>

export function createConfigFile({ file, env, extensions, config, transforms, reload }: ConfigFileDeps): ConfigFile {
  const name = file ?? 'of this gateway'
  const located = (): string => {
    if (file === undefined) throw new GatewayError('conflict', 'The configuration does not come from a file.')
    return file
  }

  const readStored = (): { text: string; etag: string } => {
    const text = refuse('conflict', () => readText(located()))
    return { text, etag: etagOf(text) }
  }

  async function check(text: string): Promise<CheckedText> {
    try {
      const document = readConfigText({ file: name, text, mode: 0o600, env })
      const resolved = await resolveForRunning(document, { extensions, plugins: config.plugins })
      // Another transforms directory needs a sandbox of its own.
      const isSameDir = resolved.config.hooks.transformsDir === transforms.dir
      const sandbox = isSameDir ? { sandbox: transforms.sandbox } : {}
      const warnings = await findWarnings(resolved, { extensions, env, ...sandbox })
      const { kept: restartFor } = keepUntilRestart(resolved.config, config)
      return { problems: [], warnings, changed: listChanges(text), restartFor }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      return { problems: error.problems, warnings: error.warnings, changed: listChanges(text), restartFor: [] }
    }
  }

  /** Compares the texts as they are, without variables and defaults. */
  function listChanges(text: string): string[] {
    try {
      const [before, after] = [readStored().text, text].map((one) => readConfigText({ ...nowhere, text: one }).value)
      return listDifferences(before, after).map(dotted)
    } catch {
      return []
    }
  }

  function write(text: string): void {
    try {
      writePrivateFile(located(), text, { overwrite: true })
    } catch (cause) {
      const { code = 'unknown error' } = cause as NodeJS.ErrnoException
      throw new GatewayError('conflict', `The configuration file cannot be written (${code}).`, { cause })
    }
  }

  /** Returns why the saved file is not in effect. */
  async function apply(): Promise<string | undefined> {
    try {
      await reload()
      return undefined
    } catch (error) {
      return error instanceof ConfigError ? describeAll(error) : describeError(error).reason
    }
  }

  const requireUnchanged = (etag: string): void => {
    if (readStored().etag !== etag)
      throw new GatewayError('precondition_failed', 'The configuration file has changed since you read it.')
  }

  return {
    read: () => ({ file: located(), ...readStored(), isWritable: isWritable(located()) }),
    check,
    edit: (text, edits) => refuse('invalid_request', () => applyEdits(name, text, edits)),
    save: async (text, etag) => {
      requireUnchanged(etag)
      const { problems, changed, restartFor } = await check(text)
      if (problems.length > 0) throw new GatewayError('invalid_request', describeAll({ problems }))
      // Nothing else runs in this process between this check and the end of the write.
      requireUnchanged(etag)
      write(text)
      const notApplied = await apply()
      return { etag: etagOf(text), changed, restartFor, ...(notApplied !== undefined && { notApplied }) }
    },
  }
}

/** For texts whose values are only compared. */
const nowhere = { file: '', mode: 0o600, env: {} }

/** The entity tag of a text: its digest. */
const etagOf = (text: string): string => `"${hash('sha256', text, 'base64url').slice(0, 22)}"`

const maxDescribed = 20

function describeAll({ problems }: Pick<ConfigError, 'problems'>): string {
  const more = problems.length - maxDescribed
  const sentences = problems.slice(0, maxDescribed).map(describeProblem)
  return `The text is not a valid configuration: ${sentences.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

function refuse<Result>(code: 'conflict' | 'invalid_request', work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof ConfigError) throw new GatewayError(code, error.message, { cause: error })
    throw error
  }
}
