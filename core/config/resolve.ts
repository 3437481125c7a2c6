// Turns a document into a checked configuration, or into the list of everything that is wrong with it.
import { dotted, type JsonSchema, listProblems, type Problem, unknownKey } from '../typebox.ts'
import { ConfigError, type ConfigProblem } from './config-error.ts'
import { fillDefaults } from './defaults.ts'
import type { ConfigDocument } from './file/read.ts'
import { normalizeHooksPath } from './hooks-path.ts'
import { nearest } from './nearest.ts'
import { secretValues } from './redaction.ts'
import { resolvePaths } from './file/relative-paths.ts'
import { checkRules, type RuleFinding } from './rules.ts'
import { type Config, type ConfigurableExtensions, createConfigSchema } from './schema.ts'
import { type Finding, resolveSecretFiles } from './file/secrets.ts'
import { isRecord, knownKeys } from './walk.ts'

export interface ResolvedConfig {
  config: Config
  /** The schema that it fits: what redaction needs. */
  schema: JsonSchema
  file: string
  /** The configuration directory. */
  dir: string
  warnings: ConfigProblem[]
}

/** Checks a document for which these extensions are loaded. @throws {ConfigError} with every problem. */
export function resolveConfig(document: ConfigDocument, extensions: ConfigurableExtensions): ResolvedConfig {
  const { file, dir, env } = document
  const schema = createConfigSchema(extensions, document.value)
  const files = resolveSecretFiles(document.value, schema, dir)
  const filled = fillDefaults(schema, files.value)
  const misfits = listProblems(schema, filled).map((misfit) => withSuggestion(misfit, schema))
  const config = fillDefaults(schema, without(filled, misfits)) as Config
  const findings = checkRules({ config, extensions, env, dir })
  const unfit = [...repeatedKeys(document), ...document.problems, ...files.problems, ...misfits]
  const problems = [
    ...firstOfEachKey(unfit),
    ...findings.filter((finding) => !finding.warning && !unfit.some((one) => isSameKey(one, finding))),
  ]
  if (problems.length > 0) throw new ConfigError(file, placeInFile(problems, document))
  const warnings = placeInFile([...findings, ...openSecrets(document, config, schema)], document)
  return { config: resolvePaths(normalized(config), schema, dir), schema, file, dir, warnings }
}

function withSuggestion({ keys, problem }: Problem, schema: JsonSchema): Finding {
  if (problem !== unknownKey) return { keys, problem }
  const names = knownKeys(schema, keys.slice(0, -1))
  const meant = nearest(keys.at(-1) ?? '', names)
  return {
    keys,
    problem: `${problem}; ${meant ? `did you mean "${meant}"?` : names.length > 0 ? `known here: ${names.join(', ')}` : 'nothing is known here'}`,
  }
}

/**
 * What does not fit is left out, so that the rules can look at all the rest in the same go. Lists keep a hole in its
 * place.
 */
function without(value: unknown, misfits: readonly Finding[]): unknown {
  const rest = structuredClone(value)
  for (const { keys } of misfits) remove(rest, keys)
  return rest
}

/** Removes what is at `keys`; where nothing is, something required is missing, and what lacks it goes. */
function remove(root: unknown, keys: readonly string[]): void {
  const key = keys.at(-1)
  if (key === undefined) return
  const holder = keys
    .slice(0, -1)
    .reduce<unknown>((at, inside) => (at as Record<string, unknown> | undefined)?.[inside], root)
  if (holder instanceof Object && Object.hasOwn(holder, key)) Reflect.deleteProperty(holder, key)
  else remove(root, keys.slice(0, -1))
}

const repeatedKeys = ({ layout }: ConfigDocument): (Finding & { line: number })[] =>
  layout.repeated.map(({ keys, line }) => ({ keys, line, problem: 'is given twice; keep one of them' }))

/**
 * Of several ways in which one value does not fit, the others follow from the first; so does what a rule says of such a
 * value.
 */
const firstOfEachKey = <One extends Finding>(findings: readonly One[]): One[] =>
  findings.filter((one, index) => findings.findIndex((other) => isSameKey(one, other)) === index)

const isSameKey = (one: Finding, other: Finding): boolean => dotted(one.keys) === dotted(other.keys)

/** Where each finding is in the file. */
export function placeInFile(
  findings: readonly (Finding & { line?: number })[],
  { layout, value }: ConfigDocument,
): ConfigProblem[] {
  return findings.map(({ keys, line, problem }) => {
    const id = mappingIdOf(keys, value)
    return { path: dotted(keys), ...(id !== undefined && { id }), line: line ?? layout.lineOf(keys), problem }
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

/** A secret that stands in a file which every user of the machine can read. */
function openSecrets({ file, text, mode }: ConfigDocument, config: Config, schema: JsonSchema): RuleFinding[] {
  const readable = (mode & 0o004) !== 0 && secretValues(config, schema).some((secret) => text.includes(secret))
  return readable
    ? [
        {
          keys: [],
          problem: `holds secrets and can be read by every user of this machine; run "chmod 600 ${file}"`,
          warning: true,
        },
      ]
    : []
}

/** The one spelling of values that may be written in several. */
function normalized(config: Config): Config {
  const { token, ...hooks } = config.hooks
  const path = normalizeHooksPath(hooks.path)
  return { ...config, hooks: token === undefined ? { ...hooks, path } : { ...hooks, path, token: token.trim() } }
}
