// Checks the running gateway: its state and connections, the proxy in front of it, and what it has not finished.
import { isIP } from 'node:net'
import { commandLine } from '../../../config/file/locate.ts'
import { readVersion } from '../../../version.ts'
import { fieldsOf, listOf, textOf } from '../../../kit/shapes.ts'
import { lacksTrustedProxy } from '../exposure.ts'
import type { Finding, FindingId, Outcome } from '../finding.ts'
import type { ReadyConfig, Subject } from '../subject.ts'
import type { GatewayState, RunningGateway } from './state.ts'

export async function checkGateway({ gateway }: Subject): Promise<Outcome> {
  const state = await gateway
  if (state.state === 'running') return await checkState(state)
  return state.state === 'none' ? { skipped: state.reason } : [uncalledGateway(state)]
}

/** A check that calls the running gateway. */
const withGateway =
  (find: (gateway: RunningGateway, subject: Subject) => Outcome | Promise<Outcome>) =>
  async (subject: Subject): Promise<Outcome> => {
    const state = await subject.gateway
    if (state.state === 'running') return await find(state, subject)
    return { skipped: state.state === 'none' ? state.reason : 'the gateway could not be asked' }
  }

function uncalledGateway({
  state,
  address,
  reason,
}: Extract<GatewayState, { address: string; reason: string }>): Finding {
  const isRefused = state === 'refused'
  return {
    id: isRefused ? 'gateway_refused' : 'gateway_unreachable',
    severity: 'error',
    where: address,
    problem: `The gateway at ${address} ${reason}.`,
    fix: isRefused
      ? 'Give its credential with --token, or its configuration with --config.'
      : 'Read its log, and restart it.',
  }
}

async function checkState({ address, getText, readyStatus }: RunningGateway): Promise<Finding[]> {
  const [status, metrics] = await Promise.all([readyStatus(), getText('/metrics')])
  const version = /^svc_gateway_info\{version="([^"]*)"\}/m.exec(metrics)?.[1]
  const isReloaded = !/^svc_gateway_config_last_reload_successful 0$/m.test(metrics)
  return [
    ...(status === 200 ? [] : [unreadyGateway(address, status)]),
    ...(version === undefined || version === readVersion() ? [] : [otherVersion(address, version)]),
    ...(isReloaded ? [] : [oldConfig(address)]),
  ]
}

const unreadyGateway = (address: string, status: number): Finding => ({
  id: 'gateway_not_ready',
  severity: 'error',
  where: `${address}/readyz`,
  problem: `The gateway accepts no work: it stops or cannot write its store, so GET /readyz returns ${status}.`,
  fix: 'Read its log: it says what the store reports.',
})

const otherVersion = (address: string, version: string): Finding => ({
  id: 'version_differs',
  severity: 'warning',
  where: address,
  problem: `The running gateway has version ${version}, and version ${readVersion()} is installed.`,
  fix: 'Restart the gateway.',
})

const oldConfig = (address: string): Finding => ({
  id: 'config_not_loaded',
  severity: 'error',
  where: address,
  problem: 'The gateway rejected the last change of its configuration and runs with an older one.',
  fix: 'Correct the errors of the configuration; the gateway loads it by itself.',
})

/** A keyed digest with the presence of each gateway says whether its configuration differs. */
export const checkOthers = withGateway(async ({ address, get }) => {
  const others = itemsOf(await get('/api/gateways')).map(fieldsOf)
  const names = others.flatMap(({ name, hasSameConfig }) => (hasSameConfig === false ? (textOf(name) ?? []) : []))
  return names.length === 0 ? [] : [otherConfig(address, [...new Set(names)].toSorted())]
})

const otherConfig = (address: string, names: readonly string[]): Finding => ({
  id: 'config_differs',
  severity: 'warning',
  where: address,
  problem:
    `Gateways on the same store run with another configuration than the gateway at ${address}: ` +
    `${names.join(', ')}.`,
  fix: 'Give all of them the same configuration and environment; if a change is under way, wait until all have it.',
})

/** States that need nobody. */
const fineStates = new Set(['connected', 'connecting', 'standby', 'open'])

export const checkConnections = withGateway(async ({ get }) => {
  const [{ accounts }, { jobs, toolsets }] = (await Promise.all([get('/api/channels'), get('/api/extensions')])).map(
    fieldsOf,
  ) as [Fields, Fields]
  return [
    ...listOf(accounts).flatMap((account) => findBroken(fieldsOf(account), describeAccount(fieldsOf(account)))),
    ...listOf(jobs).flatMap((job) => findBroken(fieldsOf(job), describeJob(fieldsOf(job)))),
    ...listOf(toolsets).flatMap((toolset) => findBroken(fieldsOf(toolset), describeToolset(fieldsOf(toolset)))),
  ]
})

type Fields = Readonly<Record<string, unknown>>

interface Connected {
  id: FindingId
  what: string
  /** The section of the configuration. */
  key: string
  fix?: string
}

function describeAccount(account: Fields): Connected {
  const [channel, id] = [String(account['channel']), String(account['accountId'])]
  const fix = `Link it with: ${commandLine(`channels login ${channel} --account ${id}`)}`
  return {
    id: 'channel_disconnected',
    what: `account "${id}" of`,
    key: `channels.${channel}`,
    ...(account['state'] === 'login_required' && { fix }),
  }
}

const describeJob = (job: Fields): Connected => ({
  id: 'job_failing',
  what: 'job of',
  key: `hooks.${String(job['preset'])}`,
})

const describeToolset = (toolset: Fields): Connected => ({
  id: 'toolset_failing',
  what: 'toolset',
  key: `tools.${String(toolset['toolset'])}`,
})

function findBroken(entry: Fields, { id, what, key, fix }: Connected): Finding[] {
  const state = String(entry['state'])
  if (fineStates.has(state)) return []
  const reason = textOf(entry['reason'])?.replace(/\.$/, '') ?? 'no reason is known'
  const problem = `The ${what} ${key} is not connected (${state}): ${reason}.`
  const usual =
    state === 'unauthorized' ? `Correct the credentials in ${key}.` : `Correct what the reason names, or ${key}.`
  return [{ id, severity: 'error', where: key, problem, fix: fix ?? usual }]
}

/** How many requests are looked at. */
const sample = 20

export const checkProxy = withGateway(async (gateway, { ready }) => {
  if (ready && lacksTrustedProxy(ready.resolved.config.gateway))
    return { skipped: 'gateway.trustedProxies is empty, as reported above' }
  const requests = await listRequests(gateway)
  if (requests.length === 0) return { skipped: 'no webhook has arrived yet' }
  const proxy = requests.find(isUntrusted)?.client
  if (proxy === undefined) return []
  return [
    {
      id: 'proxy_untrusted',
      severity: 'warning',
      where: 'gateway.trustedProxies',
      problem:
        `Webhooks come through a proxy at ${proxy} that is not trusted, so that all callers behind it seem to have ` +
        'one address, and one of them can lock out the others.',
      fix: `If the proxy is yours, add "${proxy}" to gateway.trustedProxies.`,
    },
  ]
})

interface SeenRequest {
  client: string
  forwardedFor: string | undefined
}

async function listRequests({ get }: RunningGateway): Promise<SeenRequest[]> {
  const ids = listOf(fieldsOf(await get(`/api/requests?limit=${sample}`))['items']).flatMap((request) => {
    const { id, replayOf } = fieldsOf(request)
    return replayOf === undefined ? (textOf(id) ?? []) : []
  })
  const requests = await Promise.all(ids.map((id) => get(`/api/requests/${id}`)))
  return requests.map((request) => {
    const { client, headers } = fieldsOf(request)
    return { client: String(client), forwardedFor: textOf(fieldsOf(headers)['x-forwarded-for']) }
  })
}

/** The address of a trusted proxy is replaced by one of the header. */
const isUntrusted = ({ client, forwardedFor }: SeenRequest): boolean =>
  forwardedFor !== undefined &&
  isIP(client) !== 0 &&
  !forwardedFor.split(',').some((hop) => hop.trim().replace(/^\[?([^\]]*)\]?(:\d+)?$/, '$1') === client)

export const checkBacklog = withGateway(async ({ get }, { ready }) => {
  const [running, queued, failed, unknown] = await Promise.all([
    get('/api/runs?status=running&limit=200'),
    get('/api/runs?status=queued&limit=200'),
    get('/api/outbox?status=failed&limit=200'),
    get('/api/outbox?status=unknown&limit=200'),
  ])
  const runs = [...itemsOf(running), ...itemsOf(queued)] as unknown as Run[]
  return [
    ...findStuckRuns(runs, Date.now() - longestRunMs(ready)),
    ...findDeadDeliveries([...itemsOf(failed), ...itemsOf(unknown)] as unknown as Delivery[], Date.now()),
  ]
})

const itemsOf = (page: unknown): readonly unknown[] => listOf(fieldsOf(page)['items'])

interface Run {
  id: string
  status: string
  createdAt: string
  startedAt?: string
  nextAttemptAt?: string
}

const hourMs = 3_600_000

/** How long a run may take as configured, with its retries; at least an hour. A request may ask for more. */
function longestRunMs(ready: ReadyConfig | undefined): number {
  if (!ready) return hourMs
  const { agents, hooks } = ready.resolved.config
  const limits = [...Object.values(agents), ...hooks.mappings].map(({ timeoutSeconds = 0 }) => 2000 * timeoutSeconds)
  return Math.max(hourMs, ...limits)
}

/** A run that waits for its next attempt is not stuck. */
function findStuckRuns(runs: readonly Run[], before: number): Finding[] {
  const stuck = runs
    .filter(({ nextAttemptAt }) => nextAttemptAt === undefined || Date.parse(nextAttemptAt) < before)
    .filter(({ createdAt, startedAt = createdAt }) => Date.parse(startedAt) < before)
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
  const [oldest] = stuck
  if (oldest === undefined) return []
  const { id, status, createdAt } = oldest
  const others = stuck.length > 1 ? `, and ${stuck.length - 1} more runs for too long` : ''
  return [
    {
      id: 'runs_stuck',
      severity: 'warning',
      where: `run ${id}`,
      problem: `The run ${id} has been ${status} since ${createdAt}${others}.`,
      fix: `Look at it with: ${commandLine(`runs show ${id}`)}; cancel it with: ${commandLine(`runs cancel ${id}`)}`,
    },
  ]
}

interface Delivery {
  id: string
  runId: string
  channel: string
  reason?: string
  createdAt: string
}

/** Older ones were probably noticed. */
const recentMs = 7 * 24 * hourMs

function findDeadDeliveries(deliveries: readonly Delivery[], now: number): Finding[] {
  const recent = deliveries
    .filter(({ createdAt }) => Date.parse(createdAt) > now - recentMs)
    .toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
  const [newest] = recent
  if (newest === undefined) return []
  const { id, channel, runId, reason = 'no reason is known' } = newest
  const number = recent.length === 1 ? 'One delivery has' : `${recent.length} deliveries have`
  return [
    {
      id: 'deliveries_failed',
      severity: 'warning',
      where: `channels.${channel}`,
      problem: `${number} failed in the last 7 days; the newest, to ${channel}: ${reason.replace(/\.$/, '')}.`,
      fix: `Look at it with: ${commandLine(`runs show ${runId}`)}; repeat it with POST /api/outbox/${id}/retry.`,
    },
  ]
}
