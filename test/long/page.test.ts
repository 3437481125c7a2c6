// Tests the control page on a gateway with much data, and with hundreds of changes each second.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  cancelledEnd,
  newApproval,
  newAudit,
  newDelivery,
  newRequest,
  newRun,
  newSchedule,
} from '../contracts/store-samples.ts'
import { hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { type PageOpener, sharePages } from '../page/open-page.ts'
import { openStore } from '../store/open-store.ts'

const counts = {
  requests: 100_000,
  runs: 10_000,
  sessions: 1_000,
  deliveries: 10_000,
  approvals: 1_000,
  entries: 10_000,
  schedules: 1_000,
}
const dayMs = 86_400_000
const still = { defaults: { heartbeat: { every: 0 } } }
const hooks = {
  enabled: true,
  token: hookToken,
  presets: ['github'],
  github: { auth: { secret: 'a secret of github' } },
  // The text of the configuration is long, too.
  mappings: Array.from({ length: 100 }, (_, index) => ({
    id: `alerts-${index}`,
    match: { path: `alerts-${index}` },
    messageTemplate: '{{text}}',
  })),
}
const accepted = { path: '/hooks/wake', body: '{"text":"The backup is done.","mode":"next-heartbeat"}' }
const rejected = { path: '/hooks/agent', body: '{"wrong":true}' }
/** How often each view is opened. */
const openings = 3

/** What a view shows when it is usable. The lists have more rows than a page loads. */
const views: Readonly<Record<string, (page: Page) => Locator>> = {
  home: (page) => page.getByRole('img', { name: /^Requests per minute/ }),
  requests: (page) => rowsOf(page, 'Requests'),
  runs: (page) => rowsOf(page, 'Runs'),
  sessions: (page) => rowsOf(page, 'Sessions'),
  tools: (page) => rowsOf(page, 'Tools'),
  approvals: (page) => rowsOf(page, 'Approvals'),
  schedules: (page) => rowsOf(page, 'Schedules'),
  channels: (page) => page.getByRole('list', { name: 'Accounts' }).getByRole('listitem'),
  outbox: (page) => rowsOf(page, 'Deliveries'),
  hooks: (page) => rowsOf(page, 'Hooks'),
  workbench: (page) => page.getByRole('heading', { name: 'What the agent reads' }),
  usage: (page) => page.getByRole('img', { name: /per day/ }),
  audit: (page) => rowsOf(page, 'Entries'),
  config: (page) => page.getByRole('textbox', { name: 'Text of the configuration file' }),
  log: (page) => page.getByRole('heading', { name: 'Waiting for lines' }),
  'panels/toolset/files': (page) => page.frameLocator('iframe').getByText('This folder is empty.'),
}
const longLists: ReadonlySet<string> = new Set([
  'requests',
  'runs',
  'sessions',
  'approvals',
  'schedules',
  'outbox',
  'audit',
])

const rowsOf = (page: Page, list: string): Locator => page.getByRole('list', { name: list }).getByRole('link')

describe('the control page', () => {
  const { open } = sharePages()

  it('is usable at once in every view with 100 000 requests, and scrolls without long tasks', async () => {
    const dir = temporaryFolder()
    await fill(dir)
    const url = await start(dir)
    for (const view of Object.keys(views)) {
      const opened: Awaited<ReturnType<typeof openView>>[] = []
      for (let n = 0; n < openings; n++) opened.push(await openView(open, url, view))
      const list = (field: 'shownMs' | 'longestMs' | 'longestCpuMs'): string =>
        opened.map((one) => one[field].toFixed()).join(', ')
      const [{ cpu, scrollCpu }] = opened as [(typeof opened)[number]]
      process.stdout.write(
        `${view}: shown after ${list('shownMs')} ms (${cpu}), longest task while scrolling ${list('longestMs')} ms, ` +
          `${list('longestCpuMs')} ms of CPU (${scrollCpu})\n`,
      )
    }
  })

  // The gateway stores every request that it accepts, and writes a line to the log for each that it rejects.
  it.each([
    ['requests', accepted],
    ['home', accepted],
    ['hooks/wake', accepted],
    ['log', rejected],
    ['audit', accepted],
  ] as const)(
    'keeps its memory in the view %s while hundreds of requests arrive each second for a minute',
    async (view, post) => {
      const url = await start(temporaryFolder())
      const { page, complaints } = await open(url, `#/${view}`)
      await countUpdates(page)
      await flood(url, 20, post)
      const before = await heapOf(page)
      const stopWatch = await watchCpu(page)
      const longest = await watchTasks(page)
      const received = await updatesOf(page)
      const sent = await flood(url, 40, post)
      const updates = async (): Promise<number> => (await updatesOf(page)) - received
      // The audit log does not change.
      if (view !== 'audit') await expect.poll(updates, { timeout: 60_000 }).toBeGreaterThanOrEqual(sent)
      const cpu = await stopWatch()
      const after = await heapOf(page)
      const megabytes = [before, after].map((bytes) => (bytes / 1e6).toFixed(1)).join(' MB, then ')
      process.stdout.write(
        `${view}: ${sent} requests and ${await updates()} updates in 40 s (${cpu}), ` +
          `longest task ${(await longest()).toFixed()} ms, ${megabytes} MB\n`,
      )
      expect(await page.getByRole('main').getByRole('listitem').count()).toBeLessThanOrEqual(1_000)
      expect(after).toBeLessThan(before * 1.3 + 2e6)
      expect(complaints).toEqual([])
    },
  )
})

/** Starts a gateway in a process of its own, so that it does not share one with those who measure. */
async function start(dir: string): Promise<string> {
  const { url, end } = await spawnGateway(writeConfig(dir, { agents: still, hooks }))
  onTestFinished(async () => void (await end('SIGTERM')))
  return url
}

/** Opens a view from another one, as a reader does, and scrolls in it. */
async function openView(open: PageOpener['open'], url: string, view: string) {
  const { page, complaints } = await open(url, view === 'tools' ? '#/hooks' : '#/tools')
  await page.waitForLoadState('networkidle')
  const shown = await watchCpu(page)
  const begun = performance.now()
  await page.goto(`${url}/#/${view}`)
  await views[view]?.(page).first().waitFor()
  const shownMs = performance.now() - begun
  const cpu = await shown()
  const [longest, longestCpu, scrolled] = [await watchTasks(page), await traceTasks(page), await watchCpu(page)]
  await scroll(page)
  // To find rows by their role would be the longest task of all.
  const isLong = async (): Promise<boolean> => (await page.locator('.rows a').count()) > 200
  while (longLists.has(view) && !(await isLong())) await scroll(page)
  const scrollCpu = await scrolled()
  const opened = { shownMs, cpu, longestMs: await longest(), longestCpuMs: await longestCpu(), scrollCpu }
  expect(complaints).toEqual([])
  await page.context().close()
  return opened
}

/** Starts to watch for long tasks of the browser. Returns a function that returns the length of the longest. */
async function watchTasks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`
    globalThis.longest = 0
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration)
    }).observe({ entryTypes: ['longtask'] })`)
  return () => page.evaluate<number>('globalThis.longest')
}

interface TraceEvent {
  name: string
  pid: number
  tid: number
  /** The CPU time in microseconds. */
  tdur?: number
  args?: { name?: string }
}

/** Returns a function that returns the CPU time of the longest task of the page's main thread until then. */
async function traceTasks(page: Page): Promise<() => Promise<number>> {
  const browser = page.context().browser()
  await browser?.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] })
  return async () => {
    const trace = String(await browser?.stopTracing())
    const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] }
    const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`
    const isMain = ({ name, args }: TraceEvent): boolean => name === 'thread_name' && args?.name === 'CrRendererMain'
    const threads = new Set(traceEvents.filter(isMain).map(threadOf))
    const tasks = traceEvents.filter((event) => event.name === 'RunTask' && threads.has(threadOf(event)))
    expect(tasks.length).toBeGreaterThan(0)
    return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000
  }
}

/** The CPU time of the page's main thread until the function is called. Other load on the machine changes it little. */
async function watchCpu(page: Page): Promise<() => Promise<string>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const read = async (): Promise<Map<string, number>> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return new Map(metrics.map(({ name, value }) => [name, value * 1_000]))
  }
  const before = await read()
  return async () => {
    const after = await read()
    const spent = (name: string): string => ((after.get(name) ?? 0) - (before.get(name) ?? 0)).toFixed()
    return (
      `CPU ${spent('TaskDuration')} ms, of it script ${spent('ScriptDuration')}, layout ${spent('LayoutDuration')}, ` +
      `style ${spent('RecalcStyleDuration')}`
    )
  }
}

/** Scrolls through several pages of a list. */
async function scroll(page: Page): Promise<void> {
  await page.mouse.move(700, 400)
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, 900)
    await delay(30)
  }
}

/** Counts the live updates that a page receives. */
async function countUpdates(page: Page): Promise<void> {
  await page.addInitScript(`
    globalThis.updates = 0
    globalThis.WebSocket = class extends WebSocket {
      constructor(...given) {
        super(...given)
        this.addEventListener('message', ({ data }) => void (data.includes('"method"') && globalThis.updates++))
      }
    }`)
  await page.reload()
  await page.getByRole('status').filter({ hasText: 'Live' }).first().waitFor({ state: 'attached' })
}

const updatesOf = (page: Page): Promise<number> => page.evaluate<number>('globalThis.updates')

const perSecond = 300

interface Post {
  path: string
  body: string
}

/** Sends requests when they are due, however long the earlier ones take. Returns how many. */
async function flood(url: string, seconds: number, post: Post): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 30 })
  const begun = performance.now()
  const asked: Promise<void>[] = []
  for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - begun) / 1_000) {
    while (asked.length < elapsed * perSecond) asked.push(send(url + post.path, post.body, agent))
    await delay(20)
  }
  await Promise.all(asked)
  agent.destroy()
  return asked.length
}

async function send(url: string, body: string, agent: Agent): Promise<void> {
  const headers = { authorization: `Bearer ${hookToken}` }
  const sent = request(url, { method: 'POST', agent, headers }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize
}

async function fill(dir: string): Promise<void> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log })
  const at = Date.now()
  const atOnce = 1_000
  for (let n = 0; n < counts.requests; n += atOnce)
    await Promise.all(
      Array.from({ length: atOnce }, () =>
        store.accept({ at, request: newRequest({ hook: 'agent', body: '{"message":"Look at the logs."}' }) }),
      ),
    )
  for (let n = 0; n < counts.runs; n += atOnce) {
    const runs = Array.from({ length: atOnce }, (_, index) =>
      newRun({ sessionKey: `agent:main:s${(n + index) % counts.sessions}` }),
    )
    await store.accept({ at, runs })
    await Promise.all(runs.map(({ id }) => store.endQueuedRun(id, cancelledEnd(at))))
  }
  const deliveries = Array.from({ length: counts.deliveries }, () =>
    newDelivery({ channel: 'console', status: 'failed', reason: 'There is no such room.' }),
  )
  const approvals = Array.from({ length: counts.approvals }, () =>
    newApproval({ codeHash: randomUUID(), expiresAt: at + dayMs }),
  )
  await store.createApproval({ at, approvals, deliveries })
  for (let n = 0; n < counts.entries; n += atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => store.recordAudit({ ...newAudit(), at, outcome: 'done' })))
  for (let n = 0; n < counts.schedules; n++)
    await store.addSchedule(newSchedule({ nextAt: at + dayMs }), { at, most: counts.schedules })
  await store.close()
}
