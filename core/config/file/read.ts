// Reads the configuration file as a raw document. The check follows later, because the document names the plugins that
// the schema depends on.
import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import JSON5 from 'json5'
import { ConfigError } from '../config-error.ts'
import { wellFormed } from '../../well-formed.ts'
import { type Layout, readLayout } from './layout.ts'
import { type Finding, resolveEnvironment } from './secrets.ts'
import { isRecord } from '../walk.ts'

/** A configuration file that is read but not checked yet. */
export interface ConfigDocument {
  /** Absolute path. */
  file: string
  /** The configuration directory, the base of relative paths. */
  dir: string
  text: string
  /** Permissions of the file, as in `stat`. */
  mode: number
  layout: Layout
  /** The content of the file, with environment variables resolved. */
  value: Record<string, unknown>
  /** The listed plugins, without invalid entries. */
  plugins: string[]
  problems: Finding[]
  env: NodeJS.ProcessEnv
}

/** @throws {ConfigError} if the file cannot be read or is not a JSON5 object. */
export function readConfigFile(path: string, env: NodeJS.ProcessEnv = process.env): ConfigDocument {
  const file = resolve(path)
  return readConfigText({ file, text: readText(file), mode: statSync(file).mode, env })
}

/** Parses a text as the content of a file. @throws {ConfigError} if it is not a JSON5 object. */
export function readConfigText({
  file,
  text,
  mode,
  env,
}: Pick<ConfigDocument, 'file' | 'text' | 'mode' | 'env'>): ConfigDocument {
  const raw = parseJson5Object(file, text)
  const { value, problems } = resolveEnvironment(raw, env) as { value: Record<string, unknown>; problems: Finding[] }
  const plugins = Array.isArray(value['plugins']) ? value['plugins'].filter((name) => typeof name === 'string') : []
  return { file, dir: dirname(file), text, mode, layout: readLayout(text), value, plugins, problems, env }
}

/** @throws {ConfigError} if the file cannot be read or is not UTF-8 */
export function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    throw new ConfigError(file, [
      { path: '', problem: code?.startsWith('ERR_') ? 'is not UTF-8 text' : `cannot be read (${code})` },
    ])
  }
}

/** @throws {ConfigError} with the line and the column of the first error */
export function parseJson5Object(file: string, text: string): Record<string, unknown> {
  const value = parseJson5(file, text)
  if (isRecord(value)) return wellFormed(value)
  throw new ConfigError(file, [{ path: '', line: 1, column: 1, problem: 'must be an object: { … }' }])
}

function parseJson5(file: string, text: string): unknown {
  try {
    return JSON5.parse(text)
  } catch (error) {
    const { message, lineNumber, columnNumber } = error as { message: string; lineNumber: number; columnNumber: number }
    const reason = message.replace(/^JSON5: /, '').replace(/ at \d+:\d+$/, '')
    throw new ConfigError(file, [
      { path: '', line: lineNumber, column: columnNumber, problem: `column ${columnNumber}: invalid JSON5: ${reason}` },
    ])
  }
}
