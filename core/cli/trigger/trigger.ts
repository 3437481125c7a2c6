// The command `trigger`: sends a request to a hook as its sender would, signed if the hook requires it.
import { secretsOf } from '../../hooks/auth/secret-rotation.ts'
import { signRequest } from '../../hooks/auth/sign-request.ts'
import { parseHeader, readBytesOf } from '../../kit/command-input.ts'
import { escapeForTerminal } from '../../kit/escape-for-terminal.ts'
import { type Extensions, loadBuiltins } from '../../loader/registry.ts'
import { CommandError, isInputError } from '../../plugin/errors.ts'
import type { OutgoingRequest } from '../../plugin/plugin.ts'
import { createUnreachableError } from '../locate-gateway.ts'
import { findSample, listSamples, type SampleSource } from './samples.ts'
import { findTarget, readLocal, type Target, type TargetOptions } from './target.ts'

interface TriggerOptions extends TargetOptions {
  data?: string
  file?: string
  /** The name of a sample; `true`: the first one. */
  sample?: string | true
  listSamples?: boolean
  header: string[]
  wait?: number
  dryRun?: boolean
  json?: boolean
}

export async function trigger({ hook, ...options }: TriggerOptions & { hook: string }): Promise<void> {
  checkPayloadOptions(options)
  using local = await readLocal(options.config)
  const extensions = local?.extensions ?? (await loadBuiltins())
  const presets = { hook, extensions }
  if (options.listSamples) return void process.stdout.write(await listSamples(presets, options))
  const payload = await readPayload(options, presets)
  const { schemes } = extensions
  await sendTo(findTarget(hook, { ...options, local, schemes }), payload, { ...options, schemes })
}

async function sendTo(
  { url, auth }: Target,
  { body, headers }: Payload,
  { schemes, ...options }: TriggerOptions & Pick<Extensions, 'schemes'>,
): Promise<void> {
  const prefer: Record<string, string> = options.wait === undefined ? {} : { prefer: `wait=${options.wait}` }
  const unsigned = { url, headers: { ...headers, ...prefer }, body }
  const request = createRequest(() => signRequest(auth, unsigned, { schemes, now: Date.now() }))
  const secrets = secretsOf(auth).map(({ secret }) => secret)
  if (options.dryRun) process.stdout.write(describeRequest(hide(request, secrets), options.json ?? false))
  else await send(request, options)
}

function checkPayloadOptions({ data, file, sample, listSamples }: TriggerOptions): void {
  const given = [data, file, sample].filter((value) => value !== undefined)
  if (given.length > 1) throw new CommandError('Give only one of --data, --file and --sample.')
  if (given.length === 0 && !listSamples)
    throw new CommandError('Give the payload with --data or --file, or send a sample of a preset with --sample.')
}

interface Payload {
  body: Buffer
  headers: Readonly<Record<string, string>>
}

async function readPayload({ data, file, sample, header }: TriggerOptions, presets: SampleSource): Promise<Payload> {
  const own = Object.fromEntries(header.map(parseHeader))
  const json = { 'content-type': 'application/json' }
  if (sample !== undefined) {
    const { payload, headers } = await findSample(presets, sample)
    return { body: Buffer.from(JSON.stringify(payload)), headers: { ...json, ...headers, ...own } }
  }
  return {
    body: file === undefined ? Buffer.from(data ?? '') : readBytesOf('--file', file),
    headers: { ...json, ...own },
  }
}

function createRequest(make: () => OutgoingRequest): OutgoingRequest {
  try {
    return make()
  } catch (error) {
    throw isInputError(error) ? new CommandError(error.message) : error
  }
}

/** A token is a secret. A signature is valid for this request only, so it is shown. */
function hide(request: OutgoingRequest, secrets: readonly string[]): OutgoingRequest {
  const headers = Object.entries(request.headers).map(([name, value]) => {
    const secret = secrets.find((one) => one !== '' && value.includes(one))
    return [name, secret === undefined ? value : value.replace(secret, '…')]
  })
  return { ...request, headers: Object.fromEntries(headers) as Record<string, string> }
}

function describeRequest({ url, headers, body }: OutgoingRequest, json: boolean): string {
  const text = body.toString('utf8')
  if (json) return `${JSON.stringify({ method: 'POST', url, headers, body: text })}\n`
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${escapeForTerminal([`POST ${url}`, ...lines, '', text].join('\n'))}\n`
}

interface Answer {
  status?: string
  error?: { type: string; message: string }
}

/** Prints the response. Rejects if the hook rejected the request, or if the run for which it waited did not succeed. */
async function send({ url, headers, body }: OutgoingRequest, { wait = 0 }: TriggerOptions): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
    redirect: 'error',
    signal: AbortSignal.timeout(60_000 + wait * 1000),
  }).catch((error: Error) => {
    throw createUnreachableError(new URL(url).origin, error)
  })
  const text = await response.text()
  if (!response.ok) throw new CommandError(describeRejection(response.status, text))
  process.stdout.write(`${escapeForTerminal(text.trimEnd())}\n`)
  const { status = 'succeeded' } = parse(text)
  if (wait > 0 && status !== 'succeeded') process.exitCode = 1
}

function describeRejection(status: number, text: string): string {
  const { error } = parse(text)
  const reason = error ? `${error.type}: ${error.message}` : 'the response is not one of svc-gateway'
  return `The hook rejected the request with ${status} ${escapeForTerminal(reason)}`
}

/** Some services expect a reply that is not JSON. */
function parse(text: string): Answer {
  try {
    return Object(JSON.parse(text)) as Answer
  } catch {
    return {}
  }
}
