// Connects one bot: gets its token, and hands incoming requests to Microsoft's library, which verifies them.
import {
  type ChannelContext,
  connectError,
  type Connection,
  type PlatformRequest,
  type PlatformResponse,
} from 'svc-gateway/plugin'
import { createConversations } from './conversations.ts'
import { readMessage } from './inbound.ts'
import type { TeamsConfig } from './config.ts'
import { createTokens, tokenUrlOf } from './tokens.ts'
import { createTrust } from './trust.ts'

const defaultServiceUrl = 'https://smba.trafficmanager.net/teams'

export async function connect(config: TeamsConfig, context: ChannelContext): Promise<Connection> {
  const tokens = createTokens(config, context.signal)
  // Refused credentials show now and not with the first message.
  await tokens.get().catch((error: unknown) => {
    throw connectError(error, { name: 'The token service of Microsoft', url: tokenUrlOf(config), setting: 'tokenUrl' })
  })
  const trust = createTrust(config)
  const receiver = await createReceiver(config, context, { tokens, trust })
  const conversations = createConversations(tokens, context.signal)
  const serviceUrlOf = (route: unknown): string => {
    const { serviceUrl } = (route ?? {}) as { serviceUrl?: unknown }
    return trust.isServiceUrl(serviceUrl) ? serviceUrl : (config.serviceUrl ?? defaultServiceUrl)
  }
  return {
    send: async ({ to, text, threadId, route }) =>
      await conversations.post({ serviceUrl: serviceUrlOf(route), to, threadId, activity: message(text) }),
    typing: async (to, on, route) => {
      if (on) await conversations.post({ serviceUrl: serviceUrlOf(route), to, activity: { type: 'typing' } })
    },
    handle: receiver,
    close: async () => undefined,
  }
}

const message = (text: string) => ({ type: 'message', text, textFormat: 'markdown' })

interface ReceiverDeps {
  tokens: ReturnType<typeof createTokens>
  trust: ReturnType<typeof createTrust>
}

async function createReceiver(
  { appId, tenantId, openIdMetadataUrl }: TeamsConfig,
  context: ChannelContext,
  { tokens, trust }: ReceiverDeps,
): Promise<(request: PlatformRequest) => Promise<PlatformResponse>> {
  const { App } = await import('@microsoft/teams.apps')
  const { PUBLIC, withOverrides } = await import('@microsoft/teams.api')
  type Handler = (request: { body: unknown; headers: Record<string, string> }) => Promise<{ status: number }>
  let handler: Handler | undefined
  const app = new App({
    clientId: appId,
    tenantId,
    token: tokens.get,
    cloud: openIdMetadataUrl ? withOverrides(PUBLIC, { openIdMetadataUrl }) : PUBLIC,
    httpServerAdapter: { registerRoute: (_method, _path, handle) => (handler = handle) },
    logger: silent,
  })
  app.on('message', async ({ activity }) => {
    const received = readMessage(activity, { tokens, trust })
    if (!received) return context.log.debug({ type: activity.type }, 'activity ignored: it is not a message to the bot')
    await context.receive(received)
  })
  await app.initialize()

  return async ({ method, headers, body }) => {
    if (method !== 'POST') return { status: 405 }
    // The library also accepts tokens of Entra, which any tenant can issue and which vouch for no service URL.
    if (issuerOf(headers['authorization']) !== PUBLIC.tokenIssuer) return { status: 401 }
    const activity = parseObject(body)
    if (!activity) return { status: 400 }
    if (!trust.isServiceUrl(activity['serviceUrl'])) return { status: 403 }
    const authorization = headers['authorization'] ?? ''
    const { status } = (await handler?.({ body: activity, headers: { authorization } })) ?? { status: 503 }
    // 500: the message could not be stored. Teams may send it again.
    return { status: status === 500 ? 503 : status }
  }
}

/** The library logs whole activities. */
const ignore = (): void => undefined
const silent = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  trace: ignore,
  log: ignore,
  child: () => silent,
}

/** The issuer that a token claims to have; the library verifies it. */
function issuerOf(authorization = ''): unknown {
  const [, payload = ''] = /^Bearer [\w-]+\.([\w-]+)\.[\w-]+$/.exec(authorization) ?? []
  return parseObject(Buffer.from(payload, 'base64url'))?.['iss']
}

function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
