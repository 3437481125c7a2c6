// Checks the running gateway: it answers, is ready, and its channels, jobs and toolsets are connected.
import { commandLine } from '../../../config/file/locate.ts'
import { readVersion } from '../../../control/version.ts'
import { fieldsOf, listOf, textOf } from '../../../kit/shapes.ts'
import type { Finding, FindingId, Outcome } from '../finding.ts'
import type { GatewayState, RunningGateway } from './state.ts'
import type { Subject } from '../subject.ts'

export async function checkGateway({ gateway }: Subject): Promise<Outcome> {
  const state = await gateway
  if (state.state === 'running') return await checkState(state)
  return state.state === 'none' ? { skipped: state.reason } : [uncalledGateway(state)]
}

/** A check that calls the running gateway. */
export const withGateway =
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
