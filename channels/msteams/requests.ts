// Answers the requests of the Bot Framework: verifies who sent them, and hands messages to the gateway.
import { createTokenVerifier, type SignedToken, fieldsOf, listOf, shortenRepeatedQuotes, textOf } from 'svc-gateway/kit'
import { type ChannelContext, type PlatformRequest, type PlatformResponse } from 'svc-gateway/plugin'
import type { TeamsConfig } from './config.ts'
import { readMessage } from './inbound.ts'
import type { Tokens } from './tokens.ts'
import type { Trust } from './trust.ts'

interface ReceiverDeps {
  tokens: Tokens
  trust: Trust
  context: Pick<ChannelContext, 'receive' | 'log'>
}

type Fields = Readonly<Record<string, unknown>>

/** Why a request is refused. */
interface Fault {
  status: 400 | 401 | 403
  reason: string
}

const defaultMetadataUrl = 'https://login.botframework.com/v1/.well-known/openidconfiguration'

export function createReceiver(
  { appId, tenantId, openIdMetadataUrl = defaultMetadataUrl }: TeamsConfig,
  { tokens, trust, context }: ReceiverDeps,
): (request: PlatformRequest) => Promise<PlatformResponse> {
  const receive = shortenRepeatedQuotes(context.receive)
  // Entra issues tokens for the bot as well, but any tenant gets them there, and they vouch for no service URL.
  const verifyToken = createTokenVerifier({
    keysUrl: openIdMetadataUrl.replace(/openidconfiguration$/, 'keys'),
    issuers: ['https://api.botframework.com'],
    audience: appId,
    clockSkewSeconds: 300,
  })

  /** The token says which service it is for and, through its key, for which channels. The rest is up to the service. */
  function findFault({ claims, key }: SignedToken, activity: Fields): Fault | undefined {
    const { serviceUrl, channelId } = activity
    if (!isSameUrl(claims['serviceurl'], serviceUrl))
      return { status: 401, reason: 'the token is for another service URL' }
    if (!trust.isServiceUrl(serviceUrl)) return { status: 403, reason: 'the service URL is not one of Microsoft' }
    if (channelId !== 'msteams' || !isEndorsed(key)) return { status: 403, reason: 'it does not come from Teams' }
    return isOfTenant(activity, tenantId) ? undefined : { status: 403, reason: 'it comes from another tenant' }
  }

  function refuse({ status, reason }: Fault): PlatformResponse {
    context.log.debug({ reason }, 'a request was refused')
    return { status }
  }

  async function accept(activity: Fields, signal: AbortSignal): Promise<PlatformResponse> {
    const message = activity['type'] === 'message' ? await readMessage(activity, { tokens, trust }) : undefined
    if (message) await receive(message, { signal })
    else context.log.debug({ type: textOf(activity['type']) }, 'activity ignored: it is not a message to the bot')
    return { status: 200 }
  }

  return async ({ method, headers, body, signal }) => {
    if (method !== 'POST') return { status: 405 }
    const [, bearer] = /^Bearer (\S+)$/.exec(headers['authorization'] ?? '') ?? []
    const token = await verifyToken(bearer)
    if ('problem' in token) return refuse({ status: 401, reason: `the token ${token.problem}` })
    const activity = parseObject(body)
    if (!activity) return refuse({ status: 400, reason: 'the body is not a JSON object' })
    const fault = findFault(token, activity)
    return fault ? refuse(fault) : await accept(activity, signal)
  }
}

function isSameUrl(claimed: unknown, url: unknown): boolean {
  const [one, other] = [claimed, url].map((value) => textOf(value)?.replace(/\/$/, '').toLowerCase())
  return one !== undefined && one === other
}

/** A key may be limited to some channels. */
const isEndorsed = ({ endorsements }: Fields): boolean =>
  endorsements === undefined || listOf(endorsements).includes('msteams')

/** Tokens of the Bot Framework do not name the tenant. Teams names it in one or both of two places. */
function isOfTenant({ conversation, channelData }: Fields, tenantId: string): boolean {
  const named = [fieldsOf(conversation)['tenantId'], fieldsOf(fieldsOf(channelData)['tenant'])['id']]
  const tenants = named.filter((tenant) => tenant !== undefined && tenant !== null)
  return tenants.length > 0 && tenants.every((tenant) => textOf(tenant)?.toLowerCase() === tenantId.toLowerCase())
}

function parseObject(bytes: Uint8Array): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}
