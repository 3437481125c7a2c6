// Checks a document and resolves it to a configuration, or reports all of its problems.
import { resolve } from 'node:path'
import { dotted, type JsonSchema, listProblems, type Problem, unknownKey } from '../typebox.ts'
import { normalizeSections } from './channels/ids.ts'
import { nameSections } from './channels/sections.ts'
import { ConfigError, type ConfigProblem } from './config-error.ts'
import { fillDefaults } from './defaults.ts'
import type { Place } from './file/layout.ts'
import type { ConfigDocument } from './file/read.ts'
import { normalizeHooksPath, trimSlashes } from './hooks-path.ts'
import { suggest } from './nearest.ts'
import { secretValues } from './redaction.ts'
import { setAsideRefused } from './refused-sections.ts'
import type { RuleFinding } from './rules/rule.ts'
import { checkRules } from './rules/rules.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from './schema/schema.ts'
import { type Finding, resolveSecretFiles } from './file/secrets.ts'
import { isRecord, isSecretAt, knownKeys, replaceValues } from './walk.ts'

export interface ResolvedConfig {
  config: Config
  /** The schema of the configuration, for redaction. */
  schema: JsonSchema
  file: string
  /** The configuration directory. */
  dir: string
  warnings: ConfigProblem[]
  /** Adds the place of each finding, and its path as the file has it. */
  place(findings: readonly PlacedFinding[]): ConfigProblem[]
}

/** A finding whose place may be known already. */
type PlacedFinding = Finding & Partial<Place>

/** Checks a document against the schemas of the loaded extensions. @throws {ConfigError} with all problems. */
export function resolveConfig(written: ConfigDocument, extensions: ConfigurableExtensions): ResolvedConfig {
  const { problems, resolved } = examineConfig(written, extensions)
  if (problems.length > 0) throw new ConfigError(written.file, problems)
  return resolved
}

/** Returns all problems of a document, and the configuration without the invalid values. */
export function examineConfig(
  written: ConfigDocument,
  extensions: ConfigurableExtensions,
): { problems: ConfigProblem[]; resolved: ResolvedConfig } {
  const { file, dir, env } = written
  const { named: document, asWritten } = nameSections(written, extensions.channels)
  const place: ResolvedConfig['place'] = (findings) => placeInFile(findings, { document: written, asWritten })
  const schema = createConfigSchema(extensions, document.value)
  const { value, warnings: ignored } = setAsideRefused(document.value, { schema, extensions })
  const isIgnored = ({ keys }: Finding): boolean =>
    ignored.some((one) => one.keys.every((key, index) => keys[index] === key))
  const files = resolveSecretFiles(value, schema, dir)
  const { valid, problems: schemaProblems } = checkSchema(schema, files.value)
  const config = valid as Config
  const findings = [...checkRules({ config, extensions, env, dir }), ...ignored]
  const ofValues = document.problems.filter((one) => !isIgnored(one))
  const valueProblems = [...repeatedKeys(document), ...ofValues, ...files.problems, ...schemaProblems]
  const errors = findings.filter(({ warning }) => !warning)
  const ofValidKeys = [...findings, ...readableSecretWarnings(document, config, schema)].filter(
    (finding) =>
      !valueProblems.some((one) => isSameKey(one, finding) || isMissing(one, finding)) &&
      !(finding.warning && errors.some((one) => isSameKey(one, finding))),
  )
  const problems = place([...firstOfEachKey(valueProblems), ...ofValidKeys.filter(({ warning }) => !warning)])
  const warnings = place(ofValidKeys.filter(({ warning }) => warning))
  const resolved = {
    config: resolvePaths(normalized(config, extensions), schema, dir),
    schema,
    file,
    dir,
    warnings,
    place,
  }
  return { problems, resolved }
}

/** Fills in the defaults. `valid` is the value without what does not fit the schema; its lists keep a hole there. */
export function checkSchema(schema: JsonSchema, value: unknown): { valid: unknown; problems: Finding[] } {
  const filled = fillDefaults(schema, value)
  const problems = listSchemaProblems(schema, filled)
  if (problems.length === 0) return { valid: filled, problems }
  return { valid: fillDefaults(schema, withoutInvalid(filled, problems)), problems }
}

/** What does not fit the schema, with suggestions. */
export const listSchemaProblems = (schema: JsonSchema, value: unknown): Finding[] =>
  listProblems(schema, value).map((problem) => withSuggestion(problem, schema))

/** Adds the nearest known key to the problem of an unknown one, and to that of a secret that it may be in a file. */
function withSuggestion({ keys, problem }: Problem, schema: JsonSchema): Finding {
  if (problem === 'must be a string' && isSecretAt(schema, keys)) return { keys, problem: `${problem} or { file }` }
  if (problem !== unknownKey) return { keys, problem }
  const names = knownKeys(schema, keys.slice(0, -1))
  const known = names.length > 0 ? `valid keys: ${names.join(', ')}` : 'no keys are allowed here'
  const isChannel = keys[0] === 'channels' && keys.length === 2
  return {
    keys,
    problem: `${problem}; ${suggest(keys.at(-1) ?? '', names, known)}`,
    ...(isChannel && { code: 'channel_unknown' }),
  }
}

/** Removes invalid values, so that the rules can check the rest in the same pass. Lists keep a hole in their place. */
function withoutInvalid(value: unknown, findings: readonly Finding[]): unknown {
  const rest = structuredClone(value)
  for (const { keys } of findings) remove(rest, keys)
  return rest
}

/** Removes the value at `keys`. If it does not exist, a required value is missing, and its parent is removed. */
function remove(root: unknown, keys: readonly string[]): void {
  const key = keys.at(-1)
  if (key === undefined) return
  const holder = keys
    .slice(0, -1)
    .reduce<unknown>((at, inside) => (at as Record<string, unknown> | undefined)?.[inside], root)
  if (holder instanceof Object && Object.hasOwn(holder, key)) Reflect.deleteProperty(holder, key)
  else remove(root, keys.slice(0, -1))
}

const repeatedKeys = ({ layout }: ConfigDocument): (Finding & Place)[] =>
  layout.repeated.map((one) => ({ ...one, problem: 'appears twice; remove one of them' }))

/** Further problems of the same key usually follow from the first. */
const firstOfEachKey = <One extends Finding>(findings: readonly One[]): One[] =>
  findings.filter((one, index) => findings.findIndex((other) => isSameKey(one, other)) === index)

const isSameKey = (one: Finding, other: Finding): boolean => dotted(one.keys) === dotted(other.keys)

const isMissing = (one: Finding, { keys, missing = [] }: RuleFinding): boolean =>
  missing.some((key) => dotted(one.keys) === dotted([...keys, key]))

interface Placing {
  document: ConfigDocument
  asWritten(keys: readonly string[]): readonly string[]
}

function placeInFile(findings: readonly PlacedFinding[], { document, asWritten }: Placing): ConfigProblem[] {
  const { layout, value } = document
  return findings.map(({ line, column, problem, code, ...finding }) => {
    const keys = asWritten(finding.keys)
    const id = mappingIdOf(keys, value)
    return {
      path: dotted(keys),
      ...(id !== undefined && { id }),
      ...(code && { code }),
      ...(line === undefined ? layout.placeOf(keys) : { line, column }),
      problem,
    }
  })
}

function mappingIdOf(
  [section, list, index = '']: readonly string[],
  { hooks }: Record<string, unknown>,
): string | undefined {
  if (section !== 'hooks' || list !== 'mappings' || !isRecord(hooks) || !Array.isArray(hooks['mappings']))
    return undefined
  const mapping = hooks['mappings'][Number(index)] as unknown
  return isRecord(mapping) && typeof mapping['id'] === 'string' ? mapping['id'] : undefined
}

/** Warns if the file contains a secret and every user of the machine can read it. */
function readableSecretWarnings(
  { file, text, mode }: ConfigDocument,
  config: Config,
  schema: JsonSchema,
): RuleFinding[] {
  // The URL of a store is a secret only because it may contain a password.
  const harmless = hasPassword(config.storage.url) ? undefined : config.storage.url
  const secrets = secretValues(config, schema).filter((secret) => secret !== harmless)
  const isReadable = (mode & 0o004) !== 0 && secrets.some((secret) => text.includes(secret))
  return isReadable
    ? [
        {
          keys: [],
          code: 'config_readable',
          problem: `contains secrets and can be read by every user of this machine; run "chmod 600 ${file}"`,
          warning: true,
        },
      ]
    : []
}

const hasPassword = (url: string): boolean => /\/\/[^/@]*:[^/]*@|[?&]password=/.test(url)

/** Normalizes values that can be written in several ways. */
function normalized(config: Config, { channels }: Pick<ConfigurableExtensions, 'channels'>): Config {
  const { token, ...hooks } = config.hooks
  const path = normalizeHooksPath(hooks.path)
  const { publicUrl, ...gateway } = config.gateway
  return {
    ...config,
    gateway: publicUrl === undefined ? gateway : { ...gateway, publicUrl: trimSlashes(publicUrl) },
    hooks: token === undefined ? { ...hooks, path } : { ...hooks, path, token: token.trim() },
    channels: normalizeSections(config.channels, channels),
  }
}

/** Returns a copy with absolute paths for all strings that the schema marks with `path: true`. */
const resolvePaths = (config: Config, schema: JsonSchema, dir: string): Config =>
  replaceValues(config, schema, (value, position) => {
    const isPath = (position.schema as { path?: boolean } | undefined)?.path === true
    return isPath && typeof value === 'string' ? resolve(dir, value) : value
  }) as Config
