// Brings hostile texts into every field that the control page shows, and looks at every view.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { gatewayToken, hookToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import type { PageOpener } from './open-page.ts'

const headers = { authorization: `Bearer ${gatewayToken}` }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

const views = [
  'home',
  'requests',
  'runs',
  'sessions',
  'tools',
  'approvals',
  'schedules',
  'hooks',
  'channels',
  'outbox',
  'usage',
  ...['agent', 'hook', 'channel', 'model', 'session'].map((by) => `usage?by=${by}&unit=tokens`),
  'audit',
  'log',
  'workbench',
  'panels',
  'panels/toolset/hostile',
]

/** What a plugin says of itself is text, too. */
const plugin = `
import { defineTool, defineToolset, Type } from 'svc-gateway/plugin'
const text = '<img src=x onerror="hasRun=1">'
const args = Type.Object({ [text]: Type.Optional(Type.String({ description: text })) })
const tool = defineTool({ name: 'hostile', group: 'fs', description: text, args, execute: () => ({ [text]: text }) })
export default defineToolset({
  name: 'hostile', description: text, tools: [tool],
  panel: { title: text, folder: new URL('./', import.meta.url) },
})`

/** `share`: it opens each record of so many. */
export async function showHostile(
  { open }: Pick<PageOpener, 'open'>,
  payloads: readonly string[],
  share = 5,
): Promise<void> {
  const gateway = await start()
  const { page, complaints, asked } = await open(gateway.url, '#/log')
  for (const text of payloads) await send(gateway, text)
  await expect
    .poll(async () => (await gateway.get('/api/runs?status=queued')).body.items.length, { timeout: 60_000 })
    .toBe(0)
  await answerApprovals(gateway, payloads)
  for (const place of await listPlaces(gateway, payloads, share)) {
    await page.goto(`${gateway.url}/#/${place}`)
    await expectHarmless(page, place)
  }
  await typeInto(page, gateway.url, payloads)
  await configure(page, gateway.url, payloads)
  expect(asked.filter((address) => !address.startsWith(`${gateway.url}/`))).toEqual([])
  expect(complaints.filter((text) => !/\b40[04]\b/.test(text))).toEqual([])
}

type Hostile = RunningGateway & { say: Awaited<ReturnType<typeof startChat>>['say'] }

async function start(): Promise<Hostile> {
  const dir = temporaryFolder()
  const chat = await startChat()
  writeFileSync(join(dir, 'hostile.mjs'), plugin)
  writeFileSync(join(dir, 'index.html'), '<!doctype html><title>A panel</title><h1>A panel</h1>')
  const { plugins, channels } = chat.config(dir, { 'chat-native': { dmPolicy: 'pairing' }, 'chat-none': {} })
  const gateway = await startGateway(
    {
      plugins: [...plugins, './hostile.mjs'],
      channels,
      agents: { defaults: { heartbeat: { every: 0 } } },
      tools: { byOrigin: { hook: { ask: ['read'] } } },
      hooks: {
        enabled: true,
        token: hookToken,
        allowRequestSessionKey: true,
        mappings: [
          { id: 'any', match: { path: 'any' }, name: '{{name}}', messageTemplate: '{{text}}', deliver: false },
          {
            id: 'ask',
            match: { path: 'ask' },
            name: '{{name}}',
            messageTemplate: '/read {{args}}',
            deliver: false,
          },
        ],
      },
    },
    dir,
  )
  return { ...gateway, say: chat.say }
}

const labelOf = (text: string): string => text.slice(0, 60).toWellFormed()

/** Requests, runs, sessions, steps, events, schedules, deliveries, pairings, calls that wait, and entries of the audit log. */
async function send({ post, say }: Hostile, text: string): Promise<void> {
  const label = labelOf(text)
  await post('/hooks/agent', { message: text, name: label, sessionKey: `hook:${label}`, ...quiet })
  await post(`/hooks/any?${new URLSearchParams({ q: label }).toString()}`, {
    name: label,
    text,
    [label]: { [label]: [text] },
  })
  await post('/hooks/ask', { name: label, args: JSON.stringify({ path: `a${text}` }) })
  await post(`/hooks/${encodeURIComponent(label)}`, { text })
  await post('/hooks/wake', { text, mode: 'next-heartbeat' })
  await post(
    '/hooks/agent',
    { message: '', [label]: text },
    { 'user-agent': encodeURI(label), 'x-note': encodeURI(label) },
  )
  const args = { action: 'add', message: text, name: label, every: '1h', channel: 'console', to: label }
  await post('/tools/invoke', { tool: 'cron', args }, headers)
  await post('/tools/invoke', { tool: label }, headers)
  await post('/api/pairings/revoke', { channel: 'chat-native', sender: label }, headers)
  await post('/hooks/agent', { message: text, channel: 'chat-none', to: label, wakeMode: 'next-heartbeat' })
  await say({ from: { id: label, name: text.slice(0, 200) }, to: label }, 'chat-native')
  await post('/hooks/agent', { message: `/list {"path":${JSON.stringify(text)}}`, ...quiet })
}

/** Some are denied with a hostile reason; the others wait. */
async function answerApprovals({ get, post }: Hostile, payloads: readonly string[]): Promise<void> {
  const waiting = async (): Promise<{ id: string }[]> =>
    (await get('/api/approvals?status=waiting&limit=200')).body.items
  await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBeGreaterThan(payloads.length / 2)
  const items = await waiting()
  for (const [index, { id }] of items.entries())
    if (index % 3 === 0)
      await post(`/api/approvals/${id}/deny`, { reason: payloads[index]?.slice(0, 500) ?? '' }, headers)
}

async function listPlaces({ get }: Hostile, payloads: readonly string[], share: number): Promise<string[]> {
  const some = async (list: string): Promise<{ id: string; sessionKey?: string }[]> => {
    const { items } = (await get(`/api/${list}?limit=200`)).body
    expect([list, items.length > 30]).toEqual([list, true])
    return items.filter((_: unknown, index: number) => index % share === 0)
  }
  const runs = await some('runs')
  const requests = await some('requests')
  const at = (view: string, rows: { id: string }[]) => rows.map(({ id }) => `${view}/${encodeURIComponent(id)}`)
  const few = Math.ceil(60 / share)
  const words = payloads.slice(0, few).map((text) => encodeURIComponent(text.toWellFormed()))
  return [
    ...views,
    ...at('requests', requests),
    ...at('runs', runs),
    ...at('workbench', requests.slice(0, few)),
    ...at('outbox', await some('outbox')),
    ...at('schedules', await some('schedules')),
    ...at('approvals', await some('approvals')),
    ...at('audit', (await some('audit')).slice(0, few)),
    ...runs.slice(0, few).map(({ sessionKey = '' }) => `sessions/${encodeURIComponent(sessionKey)}`),
    'sessions/main',
    'tools/hostile',
    ...words.map((word) => `requests/${word}?status=${word}`),
    ...words.map((word) => `panels/${word}`),
    ...words,
  ]
}

/** The frame of a panel is the only element that loads something. The editor is in a shadow root. */
const state = `(() => {
  const shown = [...document.querySelectorAll('#page *')]
  const all = [...shown, ...shown.flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll('*') ?? [])])]
  const foreign = 'script, iframe:not(.panel-frame[sandbox]), img:not(.cm-widgetBuffer), object, embed, link, style, base, meta, video'
  return {
    hasRun: 'hasRun' in globalThis,
    foreign: all.filter((one) => one.matches(foreign)).length,
    handlers: all.filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).length,
    links: all.filter((one) => one.matches('a') && !one.getAttribute('href').startsWith('#/')).length,
    overflow: document.documentElement.scrollWidth - innerWidth,
  }
})()`

async function expectHarmless(page: Page, place: string): Promise<void> {
  await page.getByRole('heading').first().waitFor()
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count(), { timeout: 30_000 }).toBe(0)
  const shown = await page.evaluate<object>(state)
  expect([place, shown]).toEqual([place, { hasRun: false, foreign: 0, handlers: 0, links: 0, overflow: 0 }])
}

/** What a reader pastes into the workbench, and what the gateway answers to it. */
async function typeInto(page: Page, url: string, payloads: readonly string[]): Promise<void> {
  await page.goto(`${url}/#/workbench`)
  for (const text of payloads.filter((_, index) => index % 6 === 0).slice(0, 12)) {
    const label = labelOf(text)
    for (const field of ['Hook', 'Id', 'Message', 'Session', 'Further keys', 'Headers'])
      await page.getByLabel(field, { exact: true }).fill(label)
    const replied = page.waitForResponse((response) => response.url().endsWith('/api/hooks/preview'))
    await page.getByLabel('Payload', { exact: true }).fill(JSON.stringify({ [label]: text }))
    await replied
    await expectHarmless(page, `workbench with ${label}`)
    await page.getByRole('button', { name: 'Import curl' }).click()
    const dialog = page.getByRole('dialog')
    const quoted = JSON.stringify({ [label]: text, token: text }).replaceAll("'", String.raw`'\''`)
    await dialog.getByRole('textbox').fill(`curl -H 'x-${label.replaceAll(/['\n]/g, '')}: 1' -d '${quoted}' x`)
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    // It is either imported or refused.
    await expect
      .poll(async () => (await dialog.count()) === 0 || (await dialog.getByRole('alert').count()) > 0)
      .toBe(true)
    await expectHarmless(page, `a curl command with ${label}`)
    if ((await dialog.count()) > 0) await dialog.getByRole('button', { name: 'Cancel' }).click()
  }
}

/** A text of the configuration with hostile names, values and comments, and what the gateway says about it. */
function hostileConfig(payloads: readonly string[]): string {
  const named = (value: (text: string) => unknown) =>
    payloads.map((text) => `${JSON.stringify(labelOf(text))}: ${JSON.stringify(value(text))}`).join(',\n')
  const mappings = payloads.map((text) => {
    const label = labelOf(text)
    return { id: label, name: text, match: { path: label, payload: { [label]: label } }, messageTemplate: text }
  })
  const comments = payloads.map((text) => `// ${text.replaceAll(/[\n\r\u2028\u2029]/g, ' ')}`).join('\n')
  const text = `${comments}
{
  hooks: { enabled: true, token: 'a token that is long enough', mappings: ${JSON.stringify(mappings, null, 2)} },
  agents: { ${named(() => ({ model: 'm' }))} },
  channels: { ${named((text) => ({ [labelOf(text)]: text }))} },
  tools: { deny: ${JSON.stringify(payloads)} },
  ${named((text) => text)}
}`
  // JSON5 allows them in a string, but writes a warning to standard error.
  return text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)
}

/** Writes it into the editor, opens the form of its sections, and looks at what saving would change. */
async function configure(page: Page, url: string, payloads: readonly string[]): Promise<void> {
  await page.goto(`${url}/#/config`)
  await page.getByText('valid', { exact: true }).waitFor()
  // The browser takes long to insert a long text.
  const shorter = payloads.map((text) => text.slice(0, 500))
  for (let from = 0; from < shorter.length; from += 12) {
    await page.getByRole('textbox', { name: 'Text of the configuration file' }).focus()
    await page.keyboard.press('Control+a')
    const answered = page.waitForResponse((response) => response.url().endsWith('/api/config/check'))
    await page.keyboard.insertText(hostileConfig(shorter.slice(from, from + 12)))
    await answered
    await page.getByText('has problems').waitFor()
    for (const section of ['hooks', 'agents', 'channels', 'tools']) {
      await page.getByLabel('Section', { exact: true }).selectOption(section)
      await page.evaluate(
        `document.querySelectorAll('.config-side details > summary').forEach((group) => group.click())`,
      )
      await expectHarmless(page, `the section ${section} of the configuration`)
    }
    await page.getByRole('button', { name: 'Save…' }).click()
    await page.getByRole('dialog').getByRole('group', { name: 'What saving changes' }).waitFor()
    await expectHarmless(page, 'the changes of the configuration')
    await page.getByRole('button', { name: 'Go back' }).click()
  }
}
