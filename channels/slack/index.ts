// The Slack channel: receives messages through Socket Mode, and sends text and files through the Web API.
import type { WebClient } from '@slack/web-api'
import { shortenRepeatedQuotes } from 'svc-gateway/kit'
import { type ChannelContext, type Connection, defineChannel, type Static, Type } from 'svc-gateway/plugin'
import { createBacklog } from './backlog.ts'
import { createDirectory } from './directory.ts'
import { toAuthError } from './errors.ts'
import { createReader, type Reader } from './inbound.ts'
import { createSender } from './send.ts'
import { openSocket } from './socket.ts'

const Config = Type.Object({
  botToken: Type.String({ secret: true, pattern: String.raw`\S`, description: 'The bot token of the app, `xoxb-…`.' }),
  appToken: Type.String({
    secret: true,
    pattern: String.raw`\S`,
    description: 'The app-level token with the scope `connections:write`, `xapp-…`. Socket Mode needs it.',
  }),
  apiRoot: Type.Optional(
    Type.String({
      pattern: '^https?://',
      default: 'https://slack.com/api/',
      description: 'The address of the Web API. Change it only for a proxy or for tests.',
    }),
  ),
})

export default defineChannel<Static<typeof Config>>({
  name: 'slack',
  description: 'Messages in Slack, through an app with Socket Mode.',
  config: Config,
  target: Type.String({
    pattern: '^[CDGUW][A-Z0-9]{2,}$',
    description: 'The id of a channel or conversation (`C…`, `G…`, `D…`), or of a person (`U…`, `W…`).',
  }),
  sender: Type.String({
    pattern: '^[UW][A-Z0-9]{2,}$',
    description: 'the id of a person, `U…` or `W…`, which is the member ID in the profile',
  }),
  group: Type.String({
    pattern: '^[CG][A-Z0-9]{2,}$',
    description: 'the id of a channel or conversation, `C…` or `G…`',
  }),
  normalizeId: (id) => (/^<[@#](\w+)(?:\|[^<>]*)?>$/.exec(id)?.[1] ?? id).toUpperCase(),
  limits: {
    maxText: 12_000,
    format: 'markdown',
    idempotency: 'reconcile',
    maxFileBytes: 100 * 1024 * 1024,
    // The text of a message with a file cannot be sent without link previews.
    maxCaption: 0,
    maxChoices: 5,
  },
  packages: () => ({ '@slack/web-api': '8.2.0', '@slack/socket-mode': '3.1.0' }),

  async connect({ botToken, appToken, apiRoot = 'https://slack.com/api/' }, context) {
    const { WebClient } = await import('@slack/web-api')
    const options = { ...clientOptions, slackApiUrl: apiRoot }
    const web = new WebClient(botToken, options)
    const self = await web.auth.test().catch((error: unknown) => {
      throw toAuthError(error, { token: 'the bot token', apiRoot })
    })
    warnAboutScopes(self.response_metadata?.scopes, context)
    const directory = createDirectory(web)
    const reader = createReader({ botUserId: self.user_id ?? '', botToken, apiRoot, directory })
    const { close } = await openInbound({ web, appToken, options, context, reader })
    return { ...createSender({ web, directory, state: context.state }), close }
  },
})

/** What the channel does with the bot token needs these. The page of the channel has them in its manifest. */
const neededScopes = [
  'app_mentions:read',
  'channels:history',
  'channels:read',
  'chat:write',
  'files:read',
  'files:write',
  'groups:history',
  'groups:read',
  'im:history',
  'im:read',
  'im:write',
  'mpim:history',
  'mpim:read',
  'users:read',
] as const

/** Slack names the scopes of a token in each answer. An app may be meant to do less, so it is connected nevertheless. */
function warnAboutScopes(granted: readonly string[] | undefined, { log }: Pick<ChannelContext, 'log'>): void {
  const missing = granted ? neededScopes.filter((scope) => !granted.includes(scope)) : []
  if (missing.length === 0) return
  log.warn(
    { scopes: missing.join(', ') },
    'the Slack app lacks scopes. Add them under "OAuth & Permissions", and install it again',
  )
}

interface InboundDeps extends Omit<Parameters<typeof openSocket>[0], 'onEvent' | 'onInteraction'> {
  web: WebClient
  context: ChannelContext
  reader: Reader
}

async function openInbound({ web, reader, context, ...deps }: InboundDeps): Promise<Pick<Connection, 'close'>> {
  const receive = shortenRepeatedQuotes(context.receive)

  async function onEvent(event: unknown): Promise<void> {
    const message = await reader.readEvent(event)
    if (message) await receive(message)
    else context.log.debug({}, 'an event was ignored: it is not a message of a person')
  }

  async function onNewEvent(event: unknown): Promise<void> {
    await onEvent(event)
    await backlog.note(event)
  }

  async function onInteraction(payload: unknown): Promise<void> {
    const message = await reader.readPress(payload)
    if (message) await context.receive(message)
    else context.log.debug({}, 'an interaction was ignored: it is not the press of a button of a message')
  }

  const backlog = createBacklog({ web, context, onEvent })
  const socket = await openSocket({ ...deps, context, onEvent: onNewEvent, onInteraction })
  // What is written from now on arrives as an event, so no message is between the two.
  backlog.start()
  return { close: async () => void (await Promise.all([backlog.close(), socket.close()])) }
}

/** The library's own log lines may contain messages and addresses with tickets. */
const ignore = () => undefined
const silentLogger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  setLevel: ignore,
  setName: ignore,
  getLevel: () => 'error' as never,
}

/** By default, the library repeats a call whose answer was lost, and so posts a message twice. */
const clientOptions = {
  retryConfig: { retries: 0 },
  rejectRateLimitedCalls: true,
  // The outcome of a call is unknown afterwards.
  timeout: 25_000,
  logger: silentLogger,
}
