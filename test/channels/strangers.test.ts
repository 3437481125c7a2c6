// Who may write, on every built-in channel: strangers meet nobody, and listed senders have the main session.
import { expect, it, onTestFinished } from 'vitest'
import type { PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'
import { channelDoubles } from '../doubles/channels.ts'
import { startGateway } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'

/** The linked device of WhatsApp needs a process that trusts its double. The Cloud API stands for both. */
const names = Object.keys(channelDoubles).filter((name) => !name.includes('linked'))

async function start() {
  const doubles = await Promise.all(names.map((name) => channelDoubles[name]!()))
  onTestFinished(async () => void (await Promise.all(doubles.map(({ close }) => close()))))
  const config = (allowFrom: Readonly<Record<string, string[]>>) => ({
    agents: { defaults: { heartbeat: { every: 0 } } },
    channels: Object.fromEntries(
      doubles.map(({ name, settings }) => [name, { ...settings, dmPolicy: 'open', allowFrom: allowFrom[name] ?? [] }]),
    ),
  })
  const running = await startGateway(config({}))
  const listed = async (path: string, kind: string) => (await running.get(path)).body[kind]
  const isConnected = ({ channel, state }: { channel: string; state: string }) =>
    channel !== 'console' && state === 'connected'
  await expect
    .poll(async () => (await listed('/api/channels', 'accounts')).filter(isConnected), { interval: 10 })
    .toHaveLength(names.length)
  /** Somebody writes on every channel. Returns the sessions of these messages by channel. */
  const say = async (text: string): Promise<Record<string, string>> => {
    const before = (await listed('/api/runs?kind=channel', 'items')).length
    await Promise.all(doubles.map((double) => double.say(text, requestTo(`${running.url}/channels/${double.name}`))))
    const find = async () => (await listed('/api/runs?kind=channel', 'items')).slice(0, -before || undefined)
    await expect.poll(find, { interval: 10 }).toHaveLength(names.length)
    const runs = (await find()) as { origin: { name: string }; sessionKey: string }[]
    return Object.fromEntries(runs.map(({ origin, sessionKey }) => [origin.name, sessionKey]))
  }
  return { ...running, config, say, channels: doubles.map(({ name }) => name) }
}

const requestTo =
  (url: string) =>
  async ({ method, headers, body }: PlatformRequest): Promise<PlatformResponse> => {
    const init = { method, headers: { 'content-type': 'application/json', ...headers } as Record<string, string> }
    const { status } = await fetch(url, { ...init, body: Buffer.from(body) })
    return { status }
  }

it('gives strangers sessions of their own on every channel, and listed senders the main session', async () => {
  const { config, say, channels, ...running } = await start()
  const sessions = await say('Hello from a stranger.')
  const ids = channels.map((name) => new RegExp(`^agent:main:${name}:stranger:(.+)$`).exec(sessions[name] ?? '')?.[1])
  expect(ids).not.toContain(undefined)
  await reconfigure(running, config(Object.fromEntries(channels.map((name, index) => [name, [ids[index]!]]))))
  expect(await say('Hello from a friend.')).toEqual(
    Object.fromEntries(channels.map((name) => [name, 'agent:main:main'])),
  )
})
