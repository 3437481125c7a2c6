// A gateway in the process of a test, with a scripted model: for plugins that are tried end to end.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfigFile } from '../../core/config/file/read.ts'
import { createRedactor, logSecrets } from '../../core/config/redaction.ts'
import { resolveConfig } from '../../core/config/resolve.ts'
import { createGateway } from '../../core/gateway.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { Log } from '../../core/plugin/plugin.ts'
import { startOpenAiChat } from '../doubles/openai.ts'
import type { WireRequest } from '../doubles/wire.ts'
import { merge } from './merge.ts'

/** What the scripted model answers: a text, or the call of a tool. */
export type ModelAnswer = string | { tool: string; args: unknown }

export interface TestGatewayOptions {
  /**
   * Added to a configuration with a model, a port and tokens; where both have a key, this one counts. Paths in it are
   * absolute.
   */
  config?: Record<string, unknown>
  /** What the model answers to a prompt. Default: the prompt itself. It is asked again after each tool call. */
  answer?(prompt: string): ModelAnswer
}

export interface TestResponse {
  status: number
  headers: Headers
  /** Parsed JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the test asserts what it must be
  body: any
}

/** A running gateway. Its configuration directory is a temporary folder. */
export interface TestGateway {
  /** `http://127.0.0.1:<port>`. */
  url: string
  /** The configuration directory. */
  dir: string
  /** The prompts that the model got, oldest first. */
  prompts: readonly string[]
  /** The log lines, as JSON without secrets. */
  logged: readonly string[]
  /** Sends JSON to a path, with the hook token or the gateway token, whichever the path needs. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestResponse>
  get(path: string, headers?: Record<string, string>): Promise<TestResponse>
  /** Stops the gateway and removes its folder. */
  close(): Promise<void>
}

/**
 * Starts a gateway with a scripted model and hooks on: no network, no key. Name your plugin's file in `config.plugins`.
 * @example const gateway = await createTestGateway({ config: { plugins: [file], channels: { pager: { url } } } })
 */
export async function createTestGateway({
  config,
  answer = (prompt) => prompt,
}: TestGatewayOptions = {}): Promise<TestGateway> {
  const opened = new AsyncDisposableStack()
  try {
    return await open({ config, answer, opened })
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

interface Opening extends Required<Pick<TestGatewayOptions, 'answer'>> {
  config: TestGatewayOptions['config']
  opened: AsyncDisposableStack
}

async function open({ config = {}, answer, opened }: Opening): Promise<TestGateway> {
  const prompts: string[] = []
  const logged: string[] = []
  const model = await startOpenAiChat()
  opened.defer(model.close)
  model.otherwise((request) => {
    const prompt = lastTextOf(request)
    prompts.push(prompt)
    const given = answer(prompt)
    return typeof given === 'string' ? { text: given } : given
  })
  const dir = await mkdtemp(join(tmpdir(), 'svc-gateway-test-'))
  opened.defer(async () => await rm(dir, { recursive: true, force: true }))
  const file = join(dir, 'gateway.json5')
  const defaults = {
    gateway: { port: 0, auth: { token: randomUUID() }, drainSeconds: 1 },
    hooks: { enabled: true, token: randomUUID() },
    agents: { defaults: { model: 'scripted/model', heartbeat: { every: 0 } } },
    providers: { scripted: { kind: 'openai-compatible', baseUrl: `${model.url}/v1` } },
  }
  const document = merge(defaults, config) as typeof defaults
  await writeFile(file, JSON.stringify(document), { mode: 0o600 })
  const { url, close } = await startGateway(file, logged)
  opened.defer(close)
  const ask = async (path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<TestResponse> => {
    const authorization = `Bearer ${path.startsWith('/hooks/') ? document.hooks.token : document.gateway.auth.token}`
    const response = await fetch(url + path, { ...init, headers: { authorization, ...init.headers } })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return {
    url,
    dir,
    prompts,
    logged,
    post: (path, body, headers = {}) => ask(path, { method: 'POST', body: JSON.stringify(body), headers }),
    get: (path, headers = {}) => ask(path, { headers }),
    close: () => opened.disposeAsync(),
  }
}

/** Starts a gateway as the command line does. */
async function startGateway(file: string, logged: string[]): Promise<{ url: string; close(): Promise<void> }> {
  const document = readConfigFile(file)
  const redactor = createRedactor([])
  const logFor = (component: string) => collectingLog(component, (line) => void logged.push(redactor.text(line)))
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: logFor('loader') })
  if (extensions.problems.length > 0) throw new Error(extensions.problems.join('\n'))
  const resolved = resolveConfig(document, extensions)
  redactor.hide(logSecrets(resolved, {}))
  const { config, dir } = resolved
  const gateway = await createGateway({ config, dir, file, extensions, env: {}, redactor, logFor })
  const close = async (): Promise<void> => {
    await gateway.close()
    extensions.close()
  }
  try {
    return { url: await gateway.listen(), close }
  } catch (error) {
    await close()
    throw error
  }
}

function collectingLog(component: string, write: (line: string) => void): Log {
  const at = (level: string) => (fields: object, message: string) =>
    write(JSON.stringify({ level, component, ...fields, message }))
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function lastTextOf({ body }: WireRequest): string {
  const messages = body['messages'] as { content: string }[]
  return messages.at(-1)?.content ?? ''
}
