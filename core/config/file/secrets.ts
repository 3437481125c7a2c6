// Resolves values from outside the file: `${ENV}` in any string, and `{ file: "path" }` for secrets.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { JsonSchema } from '../../typebox.ts'
import type { ProblemCode } from '../config-error.ts'
import { isRecord, replaceValues } from '../walk.ts'

/** A problem of one key of the configuration. */
export interface Finding {
  keys: readonly string[]
  problem: string
  code?: ProblemCode
}

export interface Resolved {
  value: unknown
  problems: Finding[]
}

const references = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?\})?/g

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every string; `$${` means the text `${`. Strings that cannot be
 * resolved are kept.
 */
export function resolveEnvironment(document: unknown, env: NodeJS.ProcessEnv): Resolved {
  const problems: Finding[] = []
  const value = replaceValues(document, undefined, (text, { keys }) => {
    if (typeof text !== 'string' || !text.includes('${')) return text
    const { result, problem, code } = expand(text, env)
    if (problem) problems.push({ keys, problem, ...(code && { code }) })
    return problem ? text : result
  })
  return { value, problems }
}

function expand(text: string, env: NodeJS.ProcessEnv) {
  let problem: string | undefined
  let code: ProblemCode | undefined
  const result = text.replace(references, (reference: string, name?: string, fallback?: string) => {
    if (reference === '$${') return '${'
    // As in a shell, the default also replaces an empty variable.
    const found = name === undefined ? undefined : fallback === undefined ? env[name] : env[name] || fallback
    if (name === undefined)
      problem ??= 'contains "${" that does not start ${NAME} or ${NAME:-default}; write "$${" for the text "${"'
    else if (found === undefined && problem === undefined) {
      code = 'environment_unset'
      problem = `needs the environment variable ${name}, which is not set; set it, or write \${${name}:-default}`
    }
    return found ?? ''
  })
  return { result, problem, code }
}

/** Replaces `{ file: "path" }` with the content of the file, for secrets only. The path is relative to `dir`. */
export function resolveSecretFiles(document: unknown, schema: JsonSchema, dir: string): Resolved {
  const problems: Finding[] = []
  const value = replaceValues(document, schema, (candidate, { keys, secret }) => {
    if (!secret || !isSecretFile(candidate)) return candidate
    try {
      return readFileSync(resolve(dir, candidate.file), 'utf8').replace(/\r?\n$/, '')
    } catch (error) {
      problems.push({
        keys,
        code: 'secret_file_missing',
        problem:
          `refers to a file that cannot be read ` +
          `(${(error as NodeJS.ErrnoException).code ?? 'unknown error'}): ${resolve(dir, candidate.file)}`,
      })
      return candidate
    }
  })
  return { value, problems }
}

/** The absolute paths of the secret files of a document. */
export function listSecretFiles(
  { value: document, dir }: { value: unknown; dir: string },
  schema: JsonSchema,
): string[] {
  const files: string[] = []
  replaceValues(document, schema, (value, { secret }) => {
    if (secret && isSecretFile(value)) files.push(resolve(dir, value.file))
    return value
  })
  return files
}

const isSecretFile = (value: unknown): value is { file: string } =>
  isRecord(value) && typeof value['file'] === 'string' && Object.keys(value).length === 1
