// Webhooks of services that send no id: a retry starts nothing, and a state that comes again is reported again.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { shareGateway } from '../helpers.ts'
import { alert, group } from './payloads/alertmanager.ts'

const names = ['alertmanager', 'grafana', 'netlify', 'opsgenie', 'uptimerobot', 'home-assistant']
const secret = 'the-secret-of-the-tests'
const quiet = { deliver: false, wakeMode: 'next-heartbeat', auth: { scheme: 'token', secret } }

const legacy = (state: string, more: object = {}) => ({
  title: `[${state === 'ok' ? 'OK' : 'Alerting'}] Load`,
  ruleId: 1,
  ruleName: 'Load',
  ruleUrl: 'http://grafana.example.com/d/1',
  state,
  evalMatches: [],
  orgId: 1,
  ...more,
})
const unified = (more: object = {}) => ({ ...group(more), title: '[FIRING:1] DiskFull', state: 'alerting' })
const monitor = (alertType: string, more: object = {}) => ({
  monitorID: '789',
  monitorFriendlyName: 'Shop',
  alertType,
  alertTypeFriendlyName: alertType === '1' ? 'Down' : 'Up',
  alertDateTime: '1900000000',
  ...more,
})
const opsgenie = (action: string, more: object = {}) => ({ action, alert: { alertId: 'a1', message: 'Disk', ...more } })
const deploy = (more: object) => ({ id: 'd1', state: 'ready', name: 'shop', context: 'production', ...more })

describe('a service that sends no id', () => {
  const { post } = shareGateway({
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: { presets: names, ...Object.fromEntries(names.map((name) => [name, quiet])) },
  })
  const minute = 60_000

  /** Sends the payloads, and returns which of them start a run. A number is a time in minutes that passes. */
  async function startsOf(name: string, sent: readonly (object | number)[], more: Record<string, string> = {}) {
    let now = Date.now()
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    const starts: boolean[] = []
    for (const each of sent) {
      if (typeof each === 'number') now += each * minute
      else {
        const { status, headers, body } = await post(`/hooks/${name}`, each, {
          authorization: `Bearer ${secret}`,
          ...more,
        })
        expect({ status, ...body }).toMatchObject({ status: 200, runId: expect.any(String) })
        starts.push(headers.get('idempotent-replayed') === null)
      }
    }
    return starts
  }

  it("reports each change of Grafana's legacy alerts", async () => {
    const changes = ['alerting', 'ok', 'alerting', 'ok'].map((state) => legacy(state))
    expect(await startsOf('grafana', changes)).toEqual([true, true, true, true])
  })

  it('reports each change of a legacy alert that has a title only', async () => {
    const changes = ['Alerting', 'OK', 'Alerting', 'OK'].map((state) => ({ title: `[${state}] Memory` }))
    expect(await startsOf('grafana', changes)).toEqual([true, true, true, true])
  })

  it.each([
    ['alertmanager', group({ groupKey: 'retried' })],
    ['grafana', unified({ groupKey: 'retried' })],
    ['grafana', legacy('alerting', { ruleId: 2 })],
    ['uptimerobot', monitor('1', { monitorID: '790' })],
    ['uptimerobot', monitor('1', { monitorID: '791', alertDateTime: '' })],
    ['opsgenie', opsgenie('Create', { alertId: 'a2' })],
    ['netlify', deploy({ id: 'd2' })],
  ])('recognizes a retry of %s within minutes and reports a later repeat', async (name, payload) => {
    const headers = { 'x-netlify-event': 'deploy_created' }
    expect(await startsOf(name, [payload, payload, 2, payload, 3, payload, payload], headers)).toEqual([
      true,
      false,
      false,
      true,
      false,
    ])
  })

  it('recognizes retries of several subjects that take turns', async () => {
    const [one, other] = [group({ groupKey: 'one' }), group({ groupKey: 'other' })]
    expect(await startsOf('alertmanager', [one, other, one, other])).toEqual([true, true, false, false])
  })

  it('reports a group that is again as it was before another alert', async () => {
    const second = alert({ labels: { alertname: 'DiskFull', instance: 'db2' } })
    const [one, two] = [group({ groupKey: 'flaps' }), group({ groupKey: 'flaps', alerts: [alert(), second] })]
    expect(await startsOf('alertmanager', [one, two, one])).toEqual([true, true, true])
  })

  it('reports each change of a monitor, and a reminder with the time of the first alert', async () => {
    const [down, up] = [monitor('1'), monitor('2')]
    expect(await startsOf('uptimerobot', [down, up, down, up, 5, up])).toEqual([true, true, true, true, true])
  })

  it('reports each action of an alert of Opsgenie, also at the same time', async () => {
    const at = { updatedAt: 1_900_000_000_002_000_000 }
    const [one, other] = ['Databases', 'Network'].map((team) => opsgenie('AddTeam', { ...at, team }))
    expect(await startsOf('opsgenie', [one!, other!, one!, 60, one!])).toEqual([true, true, false, false])
    const changes = ['Acknowledge', 'UnAcknowledge', 'Acknowledge'].map((action) => opsgenie(action, { alertId: 'a3' }))
    expect(await startsOf('opsgenie', changes)).toEqual([true, true, true])
  })

  it('reports each lock of a deploy of Netlify, also without a time', async () => {
    const locked = deploy({ id: 'd3', locked: true })
    const starts = []
    for (const event of ['deploy_locked', 'deploy_unlocked', 'deploy_locked', 'deploy_unlocked'])
      starts.push(...(await startsOf('netlify', [locked], { 'x-netlify-event': event })))
    expect(starts).toEqual([true, true, true, true])
  })

  it('reports every request of Home Assistant, which does not retry', async () => {
    const open = { message: 'The door is open.' }
    expect(await startsOf('home-assistant', [open, open])).toEqual([true, true])
  })
})
