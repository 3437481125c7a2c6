// A check of the channel contract: what it has, and how it is run on a new platform with a new connection.
import { expect } from 'vitest'
import type { Channel, InboundMessage, SendResult } from '../../core/plugin/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { advise } from './advise.ts'
import { type PlayedGateway, playGateway } from './channel-gateway.ts'
import type { Platform, PlatformAbility } from './platform.ts'
import { trackResources } from './resources.ts'

export interface Scene<Config> {
  channel: Channel<Config>
  platform: Platform<Config>
  gateway: PlayedGateway
  texts(): Promise<string[]>
  /** Whether the double can do this. Throws if it cannot, and `without` does not name it. */
  can(ability: PlatformAbility): boolean
  /** Says something, and resolves with the request of the platform, which nobody has answered yet. */
  captureRequest(text: string): Promise<PlatformRequest | undefined>
  /** Another account on another platform. Both are closed with the scene. */
  openOther(): Promise<{ platform: Platform<Config>; gateway: PlayedGateway }>
  /** Sockets, processes and timers since the platform was opened that keep the process alive. */
  leftovers(): string[]
  waitMs: number
}

type PlatformRequest = Parameters<PlayedGateway['handle']>[0]

export interface ChannelCheck<Config> {
  name: string
  /** What to do if it fails. */
  advice: string
  /** What the double must be able to do. */
  needs?: readonly PlatformAbility[]
  /** What it also tests. It is left out if `without` names one of these or of `needs`. */
  concerns?: readonly PlatformAbility[]
  /** Whether it needs no connection. */
  isOffline?: true
  run(scene: Scene<Config>): Promise<void>
}

interface Setup<Config> {
  channel: Channel<Config>
  openPlatform(): Promise<Platform<Config>>
  /** What is not tested. */
  without?: readonly PlatformAbility[]
  /** How long to wait for what must happen. */
  waitMs?: number
}

/** Runs one check on a new platform with a new connection, and closes both. */
export async function runCheck<Config>(check: ChannelCheck<Config>, setup: Setup<Config>): Promise<void> {
  const resources = trackResources()
  const opened = await openScene(setup, resources.open)
  const { gateway } = opened.scene
  const failures: unknown[] = []
  const step = (advice: string, run: () => Promise<void> | void) =>
    advise(advice, run).catch((error: unknown) => void failures.push(error))
  try {
    // Its sentence says what the double lacks.
    for (const need of check.needs ?? []) opened.scene.can(need)
    await step(check.advice, async () => {
      if (!check.isOffline) await gateway.connect()
      await check.run(opened.scene)
    })
    await step('Do not log secrets.', () => expectNoSecrets(gateway, gateway.log()))
    await step('Do not put secrets into messages.', () => expectNoSecrets(gateway, JSON.stringify(gateway.offered)))
    await step(logAdvice, () => expect(gateway.log()).not.toContain(canary))
  } finally {
    await step('Let `close` resolve as soon as everything has ended.', opened.closeGateways)
    await step('The double could not be closed.', opened.closePlatforms)
    resources.stop()
  }
  if (failures.length > 0) throw failures[0]
}

async function openScene<Config>(setup: Setup<Config>, leftovers: () => string[]) {
  const { channel, openPlatform, without = [], waitMs = 10_000 } = setup
  const platform = closingOnce(await openPlatform())
  const gateway = playGateway({ channel, config: platform.config, to: platform.to, waitMs })
  const others: Awaited<ReturnType<Scene<Config>['openOther']>>[] = []
  let handle = gateway.handle
  platform.webhook?.((request) => handle(request))

  const scene: Scene<Config> = {
    channel,
    platform,
    gateway,
    waitMs,
    leftovers,
    texts: async () => (await platform.messages()).map(({ text }) => text),
    can(ability) {
      if (without.includes(ability)) return false
      if (platform[ability] !== undefined) return true
      throw new Error(
        `The double has no "${ability}". Add it, or name it in "without" if the platform or the channel cannot do this.`,
      )
    },
    async captureRequest(text) {
      let captured: PlatformRequest | undefined
      handle = async (request) => {
        captured = request
        return { status: 200 }
      }
      await platform.say?.(text).finally(() => (handle = gateway.handle))
      return captured
    },
    async openOther() {
      const platform = closingOnce(await openPlatform())
      const gateway = playGateway({ channel, config: platform.config, to: platform.to, waitMs, accountId: 'other' })
      platform.webhook?.(gateway.handle)
      others.push({ platform, gateway })
      await gateway.connect()
      return { platform, gateway }
    },
  }
  const opened = () => [{ platform, gateway }, ...others]
  return {
    scene,
    closeGateways: async () => void (await Promise.all(opened().map(({ gateway }) => gateway.close()))),
    closePlatforms: async () => void (await Promise.all(opened().map(({ platform }) => platform.close()))),
  }
}

function closingOnce<Config>(platform: Platform<Config>): Platform<Config> {
  let closed: Promise<void> | undefined
  return { ...platform, close: () => (closed ??= platform.close()) }
}

/** Says something, and expects that nothing else is received before it. */
export async function expectNext<Config>(
  { platform, gateway }: Pick<Scene<Config>, 'platform' | 'gateway'>,
  text: string,
): Promise<void> {
  await platform.say?.(text)
  expect((await gateway.next()).text).toBe(text)
}

export async function reply(
  gateway: PlayedGateway,
  { to, threadId, route }: Pick<InboundMessage, 'to' | 'threadId' | 'route'>,
  more: Partial<Parameters<PlayedGateway['send']>[0]> = {},
): Promise<void> {
  const target = { to, ...(threadId !== undefined && { threadId }), ...(route !== undefined && { route }) }
  expect(await gateway.send({ ...target, text: 'hello', ...more })).toMatchObject({ outcome: 'sent' })
}

/** The operator can list the id, in the form in which messages have it. */
export function expectKnownId<Config>(channel: Channel<Config>, kind: 'sender' | 'group', id: string): void {
  expect(id.trim()).not.toBe('')
  expect(channel.normalizeId?.(id) ?? id).toBe(id)
  expect(channel[kind] === undefined || compileCheck(channel[kind]).fits(id), `${kind} must allow "${id}"`).toBe(true)
}

/** The text of messages that must not be in results and in the log. */
export const canary = 'canary text'

export const logAdvice = 'Log what happened, never a message, a request or an error that contains one.'

export function expectCleanDetail(gateway: PlayedGateway, result: SendResult): void {
  expectNoSecrets(gateway, JSON.stringify(result))
  expect(JSON.stringify(result)).not.toContain(canary)
}

export function expectNoSecrets({ secrets }: Pick<PlayedGateway, 'secrets'>, text: string): void {
  for (const secret of secrets) expect(text).not.toContain(secret)
}
