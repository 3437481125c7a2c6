// Tests traces end to end: a gateway as a process, a receiver that speaks OTLP, and doubles of a model and a web page.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startGoogle } from '../doubles/google.ts'
import { startModel } from '../doubles/model.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../doubles/otlp.ts'
import { tracePackages } from '../../core/telemetry/tracer.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type Document, gatewayToken, temporaryFolder } from '../helpers.ts'
import { ended, get, post, start } from '../reliability/process.ts'
import { closeAtEnd, share } from '../share.ts'

const spanId = 'b7ad6b7169203331'

/** What the sender of a request adds to it. */
function sendTrace() {
  const traceId = randomBytes(16).toString('hex')
  return { traceId, traceparent: `00-${traceId}-${spanId}-01` }
}

const secret = 'a-secret-of-the-configuration'

const plugin = `
  const tool = (name, execute) => ({
    name, group: 'bench', description: 'A tool.', effects: [], args: { type: 'object', properties: {} }, execute,
  })
  export default {
    kind: 'toolset', name: 'bench', description: 'A bench.',
    tools: [
      tool('measure', ({ text = '' }) => ({ length: text.length, text })),
      tool('fail', () => { throw new Error('no disk: ${secret}') }),
      tool('visit', async ({ url }, { traceHeaders }) => {
        await fetch(url, { headers: traceHeaders(url) })
        return 'visited'
      }),
      tool('delegate', async (_args, { runs }) => (await runs.start({ message: 'Help.' })).runId),
    ],
  }`

/** The variables that turn traces on. */
const variables = ({ url }: Pick<OtlpReceiver, 'url'>): NodeJS.ProcessEnv => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: '20',
})

async function setUp() {
  const [model, otlp, dir] = [await startModel(), await startOtlpReceiver(), temporaryFolder()]
  writeFileSync(join(dir, 'bench.mjs'), plugin)
  const config: Document = {
    log: { level: 'info' },
    providers: { double: { ...(model.providers['double'] as object), apiKey: secret } },
    plugins: ['./bench.mjs'],
    agents: { defaults: { model: 'double/m', heartbeat: { every: '0' } } },
    tools: { byOrigin: { hook: { allow: ['group:bench', 'web_fetch'] } } },
  }
  return { model, otlp, dir, config }
}

/** A gateway whose tests have a trace each. It says which modules of OpenTelemetry it loads. */
const shared = share(async () => {
  const { model, otlp, dir, config } = await setUp()
  const google = await startGoogle()
  closeAtEnd(() => google.close())
  const pages = { listed: await startPage(), other: await startPage() }
  const settings: Document = {
    ...config,
    providers: {
      ...(config['providers'] as object),
      mine: { kind: 'google', apiKey: secret, baseUrl: `${google.url}/v1beta` },
    },
    tools: { ...(config['tools'] as object), web: { allowHosts: [pages.listed.host, pages.other.host] } },
    telemetry: { propagateTo: [pages.listed.host] },
  }
  const env = {
    ...variables(otlp),
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc',
  }
  const gateway = await start(dir, settings, { env, nodeOptions: watchModules(dir) })
  return { model, google, otlp, pages, gateway }
})

/** Options of Node that print the modules of OpenTelemetry as they are loaded. */
function watchModules(dir: string): string[] {
  const file = join(dir, 'watch.mjs')
  writeFileSync(
    file,
    `import { registerHooks } from 'node:module'
     registerHooks({ load: (url, context, next) => {
       if (url.includes('opentelemetry')) process.stdout.write('loaded ' + url + '\\n')
       return next(url, context)
     } })`,
  )
  return ['--import', file]
}

const run = { message: 'What is the plan?', channel: 'console', wakeMode: 'next-heartbeat' }

/** The children of a span, in the order of their start. */
const childrenOf = (spans: readonly ReceivedSpan[], parent: ReceivedSpan): ReceivedSpan[] =>
  spans.filter(({ parentId }) => parentId === parent.spanId).toSorted((a, b) => a.startedAt - b.startedAt)

const namesOf = (spans: readonly ReceivedSpan[]): string[] => spans.map(({ name }) => name)

const find = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const span = spans.find((one) => one.name === name)
  if (!span) throw new Error(`no span "${name}" in ${namesOf(spans).join(', ')}`)
  return span
}

describe('a webhook', () => {
  it('is one trace from the request to the delivery, which continues that of the sender', async () => {
    const { model, otlp, gateway } = shared()
    const { traceId, traceparent } = sendTrace()
    const begun = Date.now()
    model.script({ tool: 'measure', args: { text: 'private words' } }, { tool: 'fail', args: {} }, { text: 'A reply.' })
    const headers = { traceparent, tracestate: 'vendor=1' }
    const { runId } = (await post(gateway.url, ['agent', run, headers])).body
    await otlp.until('send console', traceId)
    await otlp.until('run main', traceId)
    const spans = otlp.spans.filter(({ startedAt }) => startedAt >= begun)

    const request = find(spans, 'POST /hooks/agent')
    expect(request).toMatchObject({
      kind: 'server',
      parentId: spanId,
      tracestate: 'vendor=1',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/hooks/agent',
        'http.response.status_code': 200,
        'svc_gateway.hook': 'agent',
      },
      resource: { 'service.name': 'svc-gateway', 'deployment.environment.name': 'test' },
    })
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]))
    const [work] = childrenOf(spans, request) as [ReceivedSpan]
    const { sessionKey } = (await get(gateway.url, `/runs/${runId}`)).body
    const agent = { 'gen_ai.agent.id': 'main', 'gen_ai.agent.name': 'main', 'gen_ai.conversation.id': sessionKey }
    expect(work).toMatchObject({
      name: 'run main',
      kind: 'consumer',
      status: 'unset',
      attributes: {
        ...agent,
        'svc_gateway.run.id': runId,
        'svc_gateway.run.kind': 'hook',
        'svc_gateway.run.status': 'succeeded',
        'svc_gateway.run.queued_ms': expect.any(Number),
        'svc_gateway.hook': 'agent',
      },
    })
    const [attempt, delivery] = childrenOf(spans, work) as [ReceivedSpan, ReceivedSpan]
    const model1 = { 'gen_ai.provider.name': 'double', 'gen_ai.request.model': 'm' }
    expect(attempt).toMatchObject({
      name: 'invoke_agent main',
      kind: 'internal',
      attributes: { 'gen_ai.operation.name': 'invoke_agent', ...agent, ...model1, 'svc_gateway.attempt': 1 },
    })
    expect(delivery).toMatchObject({
      name: 'send console',
      kind: 'client',
      status: 'unset',
      attributes: { 'messaging.operation.name': 'send', 'messaging.system': 'console', 'svc_gateway.run.id': runId },
    })
    const steps = childrenOf(spans, attempt)
    expect(namesOf(steps)).toEqual(['chat m', 'execute_tool measure', 'chat m', 'execute_tool fail', 'chat m'])
    expect(steps[0]).toMatchObject({
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'chat',
        ...model1,
        'gen_ai.response.model': 'm',
        'gen_ai.response.finish_reasons': ['tool-calls'],
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': 20,
        'gen_ai.conversation.id': sessionKey,
      },
    })
    expect(steps[1]).toMatchObject({
      kind: 'internal',
      status: 'unset',
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'measure',
        'gen_ai.tool.call.id': expect.any(String),
        'gen_ai.tool.type': 'function',
        'svc_gateway.tool.verdict': 'allow',
      },
    })
    expect(steps[3]).toMatchObject({ status: 'error', attributes: { 'error.type': 'tool_failed' } })
    for (const span of spans) expect(span.endedAt).toBeGreaterThanOrEqual(span.startedAt)

    const sent = JSON.stringify(spans)
    for (const text of ['What is the plan', 'private words', 'A reply', 'no disk', secret])
      expect(sent).not.toContain(text)
    expect(otlp.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf', 'x-key': 'abc' },
    })
    expect((await get(gateway.url, `/runs/${runId}`)).body.traceId).toBe(traceId)
    const lines = gateway.log.map((line) => JSON.parse(line))
    for (const msg of ['run ended', 'tool failed'])
      expect(lines).toContainEqual(expect.objectContaining({ msg, runId, traceId }))
  })
})

describe('the name of a provider', () => {
  it('is that of its service, whatever its section is called', async () => {
    const { google, otlp, gateway } = shared()
    const { traceId, traceparent } = sendTrace()
    google.script({ text: 'A reply.' })
    const body = { ...run, model: 'mine/gemini-3-pro-preview', deliver: false }
    await post(gateway.url, ['agent', body, { traceparent }])
    const spans = await otlp.until('invoke_agent main', traceId)
    const model = { 'gen_ai.provider.name': 'gcp.gemini', 'gen_ai.request.model': 'gemini-3-pro-preview' }
    expect(find(spans, 'invoke_agent main').attributes).toMatchObject(model)
    expect(find(spans, 'chat gemini-3-pro-preview').attributes).toMatchObject(model)
  })
})

describe('with `telemetry.content`', () => {
  it('spans have messages, arguments and results, without secrets', async () => {
    const { model, otlp, dir, config } = await setUp()
    const mapping = { match: { path: 'private' }, messageTemplate: '{{ text }}', deliver: false, keepBody: false }
    const hooks = { mappings: [{ ...mapping, wakeMode: 'next-heartbeat' }] }
    const gateway = await start(dir, { ...config, hooks, telemetry: { content: true } }, { env: variables(otlp) })
    const args = { text: `my words, ${secret}` }
    model.script({ tool: 'measure', args }, { tool: 'fail', args: {} }, { text: `The key is ${secret}.` })
    const message = `What is ${secret}?`
    const prefer = { prefer: 'wait=20' }
    await post(gateway.url, ['agent', { ...run, message, deliver: false }, prefer])
    const spans = await otlp.until('POST /hooks/agent')
    const attributes = (name: string) => find(spans, name).attributes
    expect(attributes('execute_tool measure')).toMatchObject({
      'gen_ai.tool.call.arguments': '{"text":"my words, [redacted]"}',
      'gen_ai.tool.call.result': '{"length":39,"text":"my words, [redacted]"}',
    })
    expect(find(spans, 'execute_tool fail').message).toBe("The tool failed. See the gateway's log.")
    const messageOf = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
    const agent = attributes('invoke_agent main')
    expect(JSON.parse(agent['gen_ai.input.messages'] as string)).toEqual([messageOf('user', 'What is [redacted]?')])
    const reply = { ...messageOf('assistant', 'The key is [redacted].'), finish_reason: 'stop' }
    expect(JSON.parse(agent['gen_ai.output.messages'] as string)).toEqual([reply])
    const chats = spans.filter(({ name }) => name === 'chat m')
    expect(JSON.parse(chats.at(-1)?.attributes['gen_ai.output.messages'] as string)).toEqual([reply])

    model.script({ tool: 'measure', args: { text: 'silence' } }, { text: 'A silence.' })
    await post(gateway.url, ['private', { text: 'Some silence.' }, prefer])
    await otlp.until('POST /hooks/private')
    expect(JSON.stringify(spans)).not.toContain('silence')
    expect(JSON.stringify(spans)).not.toContain(secret)
  })
})

describe('a gateway that is killed', () => {
  it('leaves its runs in the trace of their requests, with the attempt that was interrupted', async () => {
    const { model, otlp, dir, config } = await setUp()
    const limited = {
      ...config,
      agents: { defaults: { model: 'double/m', heartbeat: { every: '0' }, maxConcurrent: 1 } },
    }
    const gateway = await start(dir, limited, { env: variables(otlp) })
    model.script({ hang: true }, { text: 'First.' }, { text: 'Second.' })
    const first = (await post(gateway.url, ['agent', run])).body.runId as string
    await model.request(0)
    const { traceId, traceparent } = sendTrace()
    const second = (await post(gateway.url, ['agent', run, { traceparent }])).body.runId as string
    const requests = () => otlp.spans.filter(({ name }) => name === 'POST /hooks/agent')
    await expect.poll(requests).toHaveLength(2)
    await gateway.end('SIGKILL')

    const again = await start(dir, limited, { env: variables(otlp) })
    await ended(again.url, first)
    await ended(again.url, second)
    await expect.poll(() => namesOf(otlp.spans).filter((name) => name === 'send console')).toHaveLength(2)
    const spansOf = (runId: string) => otlp.spans.filter(({ attributes }) => attributes['svc_gateway.run.id'] === runId)
    const queued = spansOf(second)
    expect(new Set(queued.map((span) => span.traceId))).toEqual(new Set([traceId]))
    expect(find(queued, 'run main').parentId).toBe(requests().find((span) => span.traceId === traceId)?.spanId)
    const interrupted = spansOf(first)
    const attempts = childrenOf(interrupted, find(interrupted, 'run main')).filter(
      ({ name }) => name === 'invoke_agent main',
    )
    expect(attempts).toMatchObject([
      { status: 'error', attributes: { 'svc_gateway.attempt': 1, 'error.type': 'interrupted' } },
      { status: 'unset', attributes: { 'svc_gateway.attempt': 2 } },
    ])
    expect(new Set(otlp.spans.map((span) => span.traceId)).size).toBe(2)
  })
})

/** A web page that keeps the headers of its requests. */
async function startPage() {
  const requests: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    requests.push(request.headers)
    response.end('A page.')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closeAtEnd(() => void server.close())
  return { requests, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('the traceparent of a call', () => {
  it('goes to the model and to hosts that are listed, and to no other', async () => {
    const { model, otlp, gateway, pages } = shared()
    const { listed, other } = pages
    const { traceId, traceparent } = sendTrace()
    const before = model.requests.length
    const url = { listed: `http://${listed.host}/`, other: `http://${other.host}/` }
    model.script(
      { tool: 'visit', args: { url: url.listed } },
      { tool: 'visit', args: { url: url.other } },
      { tool: 'web_fetch', args: { url: url.listed } },
      { tool: 'web_fetch', args: { url: url.other } },
      { text: 'Done.' },
    )
    const headers = { traceparent, tracestate: 'vendor=1', prefer: 'wait=20' }
    await post(gateway.url, ['agent', { ...run, deliver: false }, headers])
    const spans = await otlp.until('POST /hooks/agent', traceId)
    const sent = (name: string) =>
      spans.filter((span) => span.name === name).map((span) => `00-${traceId}-${span.spanId}-01`)
    const requests = model.requests.slice(before)
    expect(requests.map((request) => request.headers['traceparent'])).toEqual(sent('chat m'))
    expect(requests[0]?.headers['tracestate']).toBe('vendor=1')
    const [visit, fetched] = [sent('execute_tool visit')[0], sent('execute_tool web_fetch')[0]]
    expect(listed.requests.map((request) => request.traceparent)).toEqual([visit, fetched])
    expect(other.requests.map((request) => request.traceparent)).toEqual([undefined, undefined])
  })

  it('says that the trace is not recorded if the sender does not record it', async () => {
    const { model, otlp, gateway } = shared()
    const { traceId } = sendTrace()
    model.script({ text: 'Done.' }, { text: 'Done.' })
    const quiet = { ...run, deliver: false }
    const headers = { traceparent: `00-${traceId}-${spanId}-00`, prefer: 'wait=20' }
    const { runId } = (await post(gateway.url, ['agent', quiet, headers])).body
    expect(model.requests.at(-1)?.headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
    expect((await get(gateway.url, `/runs/${runId}`)).body.traceId).toBe(traceId)
    const next = sendTrace()
    await post(gateway.url, ['agent', quiet, { traceparent: next.traceparent, prefer: 'wait=20' }])
    await otlp.until('POST /hooks/agent', next.traceId)
    expect(otlp.spans.map((span) => span.traceId)).not.toContain(traceId)
  })
})

describe('the standard variables', () => {
  it('choose the protocol, the name of the service and the sampler; a stop sends what is left', async () => {
    const { model, otlp, dir, config } = await setUp()
    const env = {
      ...variables(otlp),
      OTEL_BSP_SCHEDULE_DELAY: '60000',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_SERVICE_NAME: 'my-gateway',
    }
    const gateway = await start(dir, config, { env })
    model.script({ text: 'Done.' }, { text: 'Done.' })
    const { runId } = (await post(gateway.url, ['agent', run, { prefer: 'wait=20' }])).body
    const { traceId } = (await get(gateway.url, `/runs/${runId}`)).body
    expect(otlp.spans).toEqual([])
    expect(await gateway.end('SIGTERM')).toBe(0)
    const names = ['POST /hooks/agent', 'chat m', 'invoke_agent main', 'run main', 'send console']
    expect(namesOf(otlp.spans).toSorted()).toEqual(names)
    expect(otlp.spans[0]?.resource).toMatchObject({ 'service.name': 'my-gateway' })
    expect(otlp.requests[0]?.headers['content-type']).toBe('application/json')
    expect(otlp.spans[0]?.traceId).toBe(traceId)

    otlp.requests.length = 0
    const quiet = await start(dir, config, { env: { ...env, OTEL_TRACES_SAMPLER: 'always_off' } })
    await post(quiet.url, ['agent', run, { prefer: 'wait=20' }])
    expect(model.requests[1]?.headers['traceparent']).toMatch(/-00$/)
    await quiet.end('SIGTERM')
    expect(otlp.requests).toEqual([])
  })

  it('turn traces off, and then no module of OpenTelemetry is loaded and no trace is stored or sent', async () => {
    const { model, otlp, dir, config } = await setUp()
    const nodeOptions = watchModules(dir)
    const { traceparent } = sendTrace()
    model.otherwise({ text: 'Done.' })
    const loaded = (output: string[]) => output.filter((line) => line.startsWith('loaded '))
    for (const env of [{}, { ...variables(otlp), OTEL_SDK_DISABLED: 'true' }]) {
      const gateway = await start(dir, config, { env, nodeOptions })
      const { runId } = (await post(gateway.url, ['agent', run, { traceparent, prefer: 'wait=20' }])).body
      expect((await get(gateway.url, `/runs/${runId}`)).body).not.toHaveProperty('traceId')
      expect(await gateway.end('SIGTERM')).toBe(0)
      expect(loaded(gateway.output)).toEqual([])
    }
    expect(model.requests.map((request) => request.headers['traceparent'])).toEqual([undefined, undefined])
    expect(otlp.requests).toEqual([])
    expect(loaded(shared().gateway.output)).not.toEqual([])
  })
})

describe('a receiver', () => {
  it('that is down does no harm, and is logged once', async () => {
    const { model, dir, config } = await setUp()
    const env = { ...variables({ url: 'http://127.0.0.1:9' }), OTEL_BSP_EXPORT_TIMEOUT: '200' }
    const gateway = await start(dir, { ...config, gateway: { drainSeconds: 2 } }, { env })
    model.otherwise({ text: 'Done.' })
    const problems = () => gateway.log.filter((line) => line.includes('traces may be lost'))
    await expect
      .poll(async () => {
        const { body } = await post(gateway.url, ['agent', run, { prefer: 'wait=20' }])
        expect(body).toMatchObject({ status: 'succeeded' })
        return problems().length
      })
      .toBeGreaterThan(0)
    for (let times = 0; times < 5; times++) await post(gateway.url, ['agent', run, { prefer: 'wait=20' }])
    expect(await gateway.end('SIGTERM')).toBe(0)
    expect(new Set(problems().map((line) => JSON.parse(line).reason)).size).toBe(problems().length)
  })
})

describe('a request', () => {
  it('that is not authenticated has no span', async () => {
    const { model, otlp, gateway } = shared()
    const { traceId, traceparent } = sendTrace()
    const begun = Date.now()
    model.script({ text: 'Done.' })
    const strange = { authorization: 'Bearer wrong', traceparent }
    expect((await post(gateway.url, ['agent', run, strange])).status).toBe(401)
    const headers = { traceparent: 'nonsense', prefer: 'wait=20' }
    const { runId } = (await post(gateway.url, ['agent', { ...run, deliver: false }, headers])).body
    await otlp.until('POST /hooks/agent', (await get(gateway.url, `/runs/${runId}`)).body.traceId)
    const requests = otlp.spans.filter(({ kind, startedAt }) => kind === 'server' && startedAt >= begun)
    expect(requests).toMatchObject([{ attributes: { 'http.response.status_code': 200 } }])
    expect(requests[0]).not.toHaveProperty('parentId')
    expect(requests[0]?.traceId).not.toBe(traceId)
  })

  it('that fails is one trace with the run that repeats it', async () => {
    const { model, otlp, gateway } = shared()
    const { traceId, traceparent } = sendTrace()
    model.script({ status: 400, body: { error: { message: `no ${secret}` } } }, { text: 'Done.' })
    const { runId } = (
      await post(gateway.url, ['agent', { ...run, deliver: false }, { traceparent, prefer: 'wait=20' }])
    ).body
    const retry = await fetch(`${gateway.url}/api/runs/${runId}/retry`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gatewayToken}` },
    })
    const { runId: again } = (await retry.json()) as { runId: string }
    await ended(gateway.url, again)
    const spans = () => otlp.spans.filter((span) => span.traceId === traceId)
    const runs = () => spans().filter(({ name }) => name === 'run main')
    await expect.poll(runs).toHaveLength(2)
    const [failed, repeated] = runs() as [ReceivedSpan, ReceivedSpan]
    expect(failed).toMatchObject({
      traceId,
      status: 'error',
      message: "The model's service answered 400.",
      attributes: { 'error.type': 'model_failed' },
    })
    expect(repeated).toMatchObject({ traceId, parentId: failed.spanId, status: 'unset' })
    expect(find(spans(), 'chat m')).toMatchObject({ status: 'error', attributes: { 'error.type': 'model_failed' } })
  })
})

describe('other work', () => {
  it('that a tool starts belongs to its call, and what no request starts is a trace of its own', async () => {
    const { model, otlp, gateway } = shared()
    const { traceId, traceparent } = sendTrace()
    model.otherwise({ text: 'Done.' })
    model.script({ tool: 'delegate', args: {} })
    await post(gateway.url, ['agent', { ...run, deliver: false }, { traceparent, prefer: 'wait=20' }])
    const ofKind = (kind: string) => otlp.spans.find(({ attributes }) => attributes['svc_gateway.run.kind'] === kind)
    await expect.poll(() => ofKind('subagent')).toBeDefined()
    expect(ofKind('subagent')).toMatchObject({ traceId, parentId: find(otlp.spans, 'execute_tool delegate').spanId })

    await post(gateway.url, ['wake', { text: 'Look.' }, { traceparent }])
    await expect.poll(() => ofKind('heartbeat')).toBeDefined()
    expect(ofKind('heartbeat')).not.toHaveProperty('parentId')
    expect(ofKind('heartbeat')?.traceId).not.toBe(traceId)
  })
})

describe('the packages', () => {
  it('are those of the package file, and work', () => {
    const { peerDependencies, devDependencies } = manifest
    expect(peerDependencies).toMatchObject(tracePackages.packages())
    expect(devDependencies).toMatchObject(tracePackages.packages())
  })
})
