// The check of the states that an account goes through, with the gateway's own code for connections.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { createLink, type Link, type LinkState } from '../../core/delivery/connections/link.ts'
import type { Channel, InboundMessage } from '../../core/plugin/plugin.ts'
import type { PlayedGateway } from './channel-gateway.ts'
import { createTestContext } from './context.ts'
import type { Platform } from './platform.ts'

interface States<Config> {
  channel: Channel<Config>
  platform: Platform<Config>
  gateway: Pick<PlayedGateway, 'close'>
  waitMs: number
}

/** Connecting, connected, lost, connected again; refused credentials; closed. */
export async function goesThroughStates<Config>({ channel, platform, gateway, waitMs }: States<Config>): Promise<void> {
  // Many platforms allow one connection.
  await gateway.close()
  const account = openAccount(channel, platform.config, waitMs)
  platform.webhook?.(async (request) => (await account.link.connection?.handle?.(request)) ?? { status: 503 })
  try {
    expect(account.link.health().state).toBe('connecting')
    await account.becomes('connected')
    expect(account.link.health().reason).toBeUndefined()
    if (platform.disconnect && platform.say) {
      await platform.disconnect()
      // A channel may repair the connection itself. Otherwise it reports the loss, with the reason.
      await platform.say('after the loss')
      await account.receives('after the loss')
      await account.becomes('connected')
      expect(account.reasons).not.toContain('')
    }
  } finally {
    await account.link.close()
  }
  expect(account.link.connection).toBeUndefined()
  if (platform.badConfig) await isRefused(channel, platform.badConfig, waitMs)
}

async function isRefused<Config>(channel: Channel<Config>, config: Config, waitMs: number): Promise<void> {
  const account = openAccount(channel, config, waitMs)
  try {
    await account.becomes(channel.login ? 'login_required' : 'unauthorized')
    expect(account.link.health().reason).toMatch(/\S/)
    expect(account.link.connection).toBeUndefined()
  } finally {
    await account.link.close()
  }
}

interface OpenedAccount {
  link: Link
  /** Why it was not connected, each time that it was not. */
  reasons: readonly string[]
  becomes(state: LinkState): Promise<void>
  receives(text: string): Promise<void>
}

/** How long the gateway waits before it connects again. */
const pauseMs = 1_500

function openAccount<Config>(channel: Channel<Config>, settings: Config, waitMs: number): OpenedAccount {
  const context = createTestContext()
  const received: InboundMessage[] = []
  const reasons: string[] = []
  const link = createLink(
    {
      receive: async (_account, message) => {
        received.push(message)
        return 'accepted'
      },
      reportLateFailure: async () => undefined,
      moveGroup: async () => undefined,
      onConnected: () => undefined,
      state: () => context.state,
      findMissingPackages: () => undefined,
      redact: (text) => text,
      log: context.log,
    },
    { channel, accountId: 'default', settings: settings as Record<string, unknown> },
  )
  link.open()
  /** A state lasts for a second at least, unless it is the one that is waited for. */
  async function until(holds: () => boolean, what: string): Promise<void> {
    for (const end = Date.now() + pauseMs + waitMs; !holds(); await delay(5)) {
      const { state, reason = '' } = link.health()
      if (state === 'failing' && reasons.at(-1) !== reason) reasons.push(reason)
      if (Date.now() > end) throw new Error(`waited ${waitMs} ms for ${what}; the account is ${state}: ${reason}`)
    }
  }
  return {
    link,
    reasons,
    becomes: (wanted) => until(() => link.health().state === wanted, `the state ${wanted}`),
    receives: (text) => until(() => received.some((message) => message.text === text), `the message "${text}"`),
  }
}
