// The checks of the transform contract, as functions: the suite runs them, and a test runs them on faulty transforms.
import { basename, dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { readConfigText } from '../../core/config/file/read.ts'
import { resolveConfig } from '../../core/config/resolve.ts'
import { GatewayError } from '../../core/errors.ts'
import { type Trial, tryTransform } from '../../core/hooks/trial.ts'
import { type Extensions, loadExtensions } from '../../core/loader/registry.ts'
import { createSandbox } from '../../core/sandbox/sandbox.ts'
import { TransformError } from '../../core/sandbox/transform-error.ts'
import type { TransformResult } from '../../core/transform.ts'
import { advise } from './advise.ts'
import { createTestContext } from './context.ts'

/** One request. */
export interface TransformSample {
  /** A few words for the title of the test. */
  what: string
  payload: unknown
  /** By name in lower case. */
  headers?: Readonly<Record<string, string>>
  /** The time of the request, ISO 8601. Default: 2030-01-31T09:00:00.000Z. */
  now?: string
}

export interface TransformCase {
  /** The function to call, as in `transform.export`. Default: the default export. */
  export?: string
  /** Absolute path of the transforms directory, if the file is not directly in it. */
  dir?: string
  /**
   * Sections of the configuration: a mapping that uses the transform, agents that it names, plugins with absolute
   * paths. Without such a mapping, the transform is tested as if the mapping provided what the transform omits.
   */
  config?: Readonly<Record<string, unknown>>
  /** Requests that lead to actions, and what the transform returns for them. */
  accepted: readonly (TransformSample & { result: TransformResult })[]
  /** Requests for which it returns `null`. */
  skipped?: readonly TransformSample[]
  /** Requests that are answered 400: the payload does not fit the schema, or a rule of the hook forbids the action. */
  refused?: readonly TransformSample[]
}

export interface TransformChecks {
  checks: readonly { name: string; run(): Promise<void> }[]
  /** Starts the sandbox. */
  open(): Promise<void>
  close(): Promise<void>
}

const sampleTime = '2030-01-31T09:00:00.000Z'

/** @param openSandbox lets several transforms of a folder share a sandbox */
export function createTransformChecks(
  file: string | URL,
  transform: TransformCase,
  openSandbox = createSandbox,
): TransformChecks {
  const { accepted, skipped = [], refused = [] } = transform
  let trials: Trials | undefined
  const attempt = async (sample: TransformSample): Promise<Trial> => {
    if (!trials) throw new Error('The sandbox has not been started.')
    return await trials.attempt(sample)
  }
  const resultOf = async (sample: TransformSample): Promise<TransformResult> => {
    const { run, error } = await attempt(sample)
    if (error !== undefined) throw new Error(explain(error), { cause: error })
    return run?.result
  }
  return {
    open: async () => void (trials = await openTrials(fileURLToPathOrSelf(file), transform, openSandbox)),
    close: async () => trials?.close(),
    checks: [
      ...accepted.map((sample) => ({
        name: `returns the result that the hook accepts for ${sample.what}`,
        run: async () => expect(await resultOf(sample)).toEqual(sample.result),
      })),
      ...accepted.map((sample) => ({
        name: `returns the same for the same request: ${sample.what}`,
        run: async () => {
          const [first, second] = [await resultOf(sample), await resultOf(sample)]
          expect(isDeepStrictEqual(second, first), 'the second call must return what the first has returned').toBe(true)
        },
      })),
      ...accepted.map((sample) => ({
        name: `takes no recipient, agent or model from the payload: ${sample.what}`,
        run: () => advise(recipientAdvice, () => choosesItself(sample, attempt)),
      })),
      ...accepted.map((sample) => ({
        name: `prints no text of the payload: ${sample.what}`,
        run: () => advise(printAdvice, () => printsNoText(sample, attempt)),
      })),
      ...skipped.map((sample) => ({
        name: `skips ${sample.what}`,
        run: async () => expect(await resultOf(sample)).toBeNull(),
      })),
      ...refused.map((sample) => ({
        name: `refuses ${sample.what} with 400`,
        run: async () => {
          const { error } = await attempt(sample)
          expect(error, 'The hook must refuse this request, but accepts it.').toBeDefined()
          if (!(error instanceof GatewayError) || error.status !== 400)
            throw new Error(explain(error), { cause: error })
        },
      })),
    ],
  }
}

type Attempt = (sample: TransformSample) => Promise<Trial>

const printAdvice = 'Print no texts of the payload: what a transform prints is in the log of the gateway.'

async function printsNoText(sample: TransformSample, attempt: Attempt): Promise<void> {
  const texts = textsIn(sample.payload).filter((text) => /\S\s+\S/.test(text))
  const printed = JSON.stringify((await attempt(sample)).run?.logs ?? [])
  expect(texts.filter((text) => printed.includes(JSON.stringify(text).slice(1, -1)))).toEqual([])
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const recipientAdvice =
  'Choose the recipient, the agent and the model in the mapping, or from a list in the transform: the sender writes the ' +
  'payload, and could have replies sent to anybody.'

/** What the operator decides. */
const operatorFields = ['accountId', 'agentId', 'channel', 'model', 'threadId', 'to'] as const

/** Changes each text of the payload that is such a field of the result, and looks whether the field follows. */
async function choosesItself(sample: TransformSample & { result: TransformResult }, attempt: Attempt): Promise<void> {
  const chosen = new Set(fieldsIn(sample.result).map(([, value]) => value))
  const change = (text: string) => (chosen.has(text) ? `${text}-of-the-sender` : text)
  const { run } = await attempt({ ...sample, payload: replaceTexts(sample.payload, change) })
  const taken = fieldsIn(run?.result).filter(([, value]) => value.endsWith('-of-the-sender'))
  expect(
    taken.map(([field]) => field),
    'fields that follow the payload',
  ).toEqual([])
}

const fieldsIn = (result: unknown): [field: string, value: string][] =>
  [result].flat().flatMap((action) =>
    operatorFields.flatMap((field): [string, string][] => {
      const value = (action as Record<string, unknown> | null | undefined)?.[field]
      return typeof value === 'string' ? [[field, value]] : []
    }),
  )

function replaceTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => replaceTexts(one, replace))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaceTexts(one, replace)]))
}

interface Trials {
  attempt(sample: TransformSample): Promise<Trial>
  close(): Promise<void>
}

/** The transform behind the same code that serves its hook. */
async function openTrials(file: string, transform: TransformCase, openSandbox: typeof createSandbox): Promise<Trials> {
  const { log } = createTestContext()
  const dir = transform.dir ?? dirname(file)
  const { config = {}, export: exportName = 'default' } = transform
  const document = readConfigText({ file: `${dir}/gateway.json5`, text: JSON.stringify(config), mode: 0o600, env: {} })
  const extensions = await loadExtensions({ plugins: document.plugins, dir, log })
  if (extensions.problems.length > 0) throw new Error(extensions.problems.join('\n'))
  const resolved = resolve(document, extensions)
  const sandbox = openSandbox({ root: dir, dir, log })
  const deps = { config: resolved, dir, extensions, sandbox, log }
  return {
    attempt: ({ payload, headers = {}, now = sampleTime }) => {
      const body = Buffer.from(JSON.stringify(payload))
      return tryTransform(deps, { module: moduleName(dir, file), exportName, body, headers, now })
    },
    close: async () => {
      await sandbox.close()
      extensions.close()
    },
  }
}

const resolve = (document: Parameters<typeof resolveConfig>[0], extensions: Extensions) =>
  resolveConfig(document, extensions).config

/** The path as a mapping names it. */
const moduleName = (dir: string, file: string): string => relative(dir, file).replaceAll('\\', '/') || basename(file)

const fileURLToPathOrSelf = (file: string | URL): string =>
  file instanceof URL || file.startsWith('file:') ? fileURLToPath(file) : file

/** What the log does not say: the payload belongs to the author of the test. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof TransformError)) return `the hook would refuse the request: ${error.message}`
  const { message, detail } = error
  return detail === undefined || message.includes(detail) ? message : `${message}\n${detail}`
}
