// Starts gateways for tests, in this process or as a separate one.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { readConfigFile } from '../core/config/file/read.ts'
import { createRedactor, logSecrets } from '../core/config/redaction.ts'
import { resolveConfig } from '../core/config/resolve.ts'
import { createGateway, type Gateway } from '../core/gateway.ts'
import { loadExtensions } from '../core/loader/registry.ts'
import type { Log } from '../core/plugin/plugin.ts'
import { createStoreOf, storageIn } from './engine.ts'
import { expectNoWarnings } from './process-warnings.ts'
import { recordAnswers } from './recorder.ts'
import { program } from './program.ts'
import { silenceConsoleChannel } from './quiet-console.ts'
import { closeAtEnd, share } from './share.ts'

silenceConsoleChannel()

export const hookToken = 'hook-token-of-the-tests-0123456789'
export const gatewayToken = 'gateway-token-of-the-tests-0123456789'

/** A configuration as written in the file. */
export type Document = Record<string, unknown>

export const baseDocument: Document = {
  gateway: { port: 0, auth: { token: gatewayToken } },
  hooks: { enabled: true, token: hookToken },
  channels: { console: { defaultTo: 'console', file: 'console.jsonl' } },
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-'))
  closeAtEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Merges the sections one level deep over the base document. */
export function writeConfig(dir: string, changes: Document = {}): string {
  const storage = changes['storage'] === undefined ? storageIn(dir) : undefined
  const document: Document = { ...baseDocument, ...(storage && { storage }) }
  for (const [section, value] of Object.entries(changes)) {
    const base = document[section]
    document[section] = isSection(base) && isSection(value) ? { ...base, ...value } : value
  }
  const file = join(dir, 'gateway.json5')
  writeFileSync(file, JSON.stringify(document, null, 2), { mode: 0o600 })
  return file
}

const isSection = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export interface RunningGateway {
  gateway: Gateway
  url: string
  dir: string
  /** Every log line, as JSON. */
  logged: string[]
  /** The distinct responses so far, such as `GET /runs/:id 404`. */
  answers: ReadonlySet<string>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
}

export interface Answer {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- the test asserts what it must be
  body: any
}

/** Starts a gateway in this process on a free port. It is closed when the test ends, or the block that shares it. */
export const startGateway = (changes: Document = {}, dir = temporaryFolder()): Promise<RunningGateway> =>
  startGatewayOn(writeConfig(dir, changes))

/** Does the same with a configuration file as it is. A port replaces the one in the file. */
export async function startGatewayOn(file: string, options: { port?: number } = {}): Promise<RunningGateway> {
  await createStoreOf(file)
  const running = await openGateway(file, options)
  closeAtEnd(() => running.gateway.close())
  return running
}

/** Starts one gateway for all tests of a block. The tests must not depend on each other. */
export function shareGateway(
  changes: Document = {},
): Pick<RunningGateway, 'post' | 'get'> & { send(path: string, init?: RequestInit): Promise<Response> } {
  const running = share(() => startGateway(changes))
  return {
    post: (...args) => running().post(...args),
    get: (...args) => running().get(...args),
    send: (path, init) => fetch(`${running().url}${path}`, init),
  }
}

async function openGateway(file: string, { port }: { port?: number }): Promise<RunningGateway> {
  const logged: string[] = []
  const dir = dirname(file)
  const document = readConfigFile(file)
  const extensions = await loadExtensions({ plugins: document.plugins, dir, log: collectingLog(logged, 'loader') })
  const resolved = resolveConfig(document, extensions)
  const { config } = resolved
  const redactor = createRedactor(logSecrets(resolved, {}))
  const gateway = await createGateway({
    config,
    dir,
    file: document.file,
    port,
    extensions,
    env: {},
    redactor,
    logFor: (component) => collectingLog(logged, component),
  })
  const { answers, surprises } = recordAnswers(gateway.app)
  const url = await gateway.listen()
  let closed: Promise<void> | undefined
  const close = gateway.close
  const closeAndCheck = async (): Promise<void> => {
    await close()
    expect(surprises).toEqual([])
    await expectNoWarnings()
  }
  gateway.close = () => (closed ??= closeAndCheck())
  return {
    gateway,
    url,
    dir,
    logged,
    answers,
    post: (path, body, headers = {}) =>
      ask(`${url}${path}`, {
        method: 'POST',
        body:
          typeof body === 'string' || body instanceof Uint8Array
            ? (body as Uint8Array<ArrayBuffer>)
            : JSON.stringify(body),
        headers: { authorization: `Bearer ${hookToken}`, ...headers },
      }),
    get: (path, headers = {}) =>
      ask(`${url}${path}`, { headers: { authorization: `Bearer ${gatewayToken}`, ...headers } }),
  }
}

export async function ask(url: string, options: RequestInit): Promise<Answer> {
  const response = await fetch(url, options)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined }
}

function collectingLog(lines: string[], component: string): Log {
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push(JSON.stringify({ level, component, ...fields, message }))
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export interface GatewayProcess {
  process: ChildProcess
  url: string
  /** The lines of standard output and of the log. */
  output: string[]
  log: string[]
  /** Sends the signal and waits for the process to end. Resolves with its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts a gateway as a separate process, as `npm start` does. */
export async function spawnGateway(
  configFile: string,
  { args = [], nodeOptions = [], env }: { args?: string[]; nodeOptions?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<GatewayProcess> {
  await createStoreOf(configFile)
  const child = spawn(process.execPath, [...nodeOptions, program, 'start', '--config', configFile, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [output, log]: [string[], string[]] = [[], []]
  const listening = Promise.withResolvers<string>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    output.push(line)
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url) listening.resolve(url)
  })
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line))
  void exited.then((code) => listening.reject(new Error(`the gateway ended with ${code}:\n${log.join('\n')}`)))
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    return await exited
  }
  return { process: child, url: await listening.promise, output, log, end }
}
