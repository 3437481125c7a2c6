// The endpoints for channels: the state of each account, login and logout.
import type { ConnectionState } from '../delivery/connections/link.ts'
import { linkStates } from '../delivery/connections/link.ts'
import { type CheckAccount, checkNames } from '../delivery/connections/account-check.ts'
import type { Logins } from '../delivery/connections/login.ts'
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import { isInputError } from '../plugin/errors.ts'
import type { Extensions } from '../loader/registry.ts'
import type { Health } from '../reconnect.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { Done, iso, Time } from './lists.ts'

interface ChannelsDeps {
  extensions: Pick<Extensions, 'channels'>
  /** Every configured account. */
  connections: () => readonly ConnectionState[]
  logins: Logins
  checkAccount: CheckAccount
}

export function channelEndpoints({
  extensions: { channels },
  connections,
  logins,
  checkAccount,
}: ChannelsDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/channels',
      access: { needs: 'read', scope: 'gateway' },
      schema: {
        summary: 'Lists the configured accounts of channels with their states.',
        response: { 200: AccountList },
      },
      handle: async () => ({
        accounts: connections().map((account) => {
          const { channel } = account
          return Object.assign(viewAccount(account), { channel, hasLogin: channels.get(channel)?.login !== undefined })
        }),
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/channels/:name/check',
      access: { needs: 'admin', scope: 'gateway', action: 'channel.check', recordsAfter: true },
      schema: {
        summary: 'Sends messages of all kinds to one recipient, and connects the account again.',
        params: NameParams,
        body: CheckBody,
        response: { 200: CheckReply },
      },
      handle: async ({ params, body }) => ({
        ok: true,
        checks: await refuse(() => checkAccount(targetOf(params, body), body)),
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/channels/:name/login',
      access: { needs: 'admin', scope: 'gateway', action: 'channel.login', recordsAfter: true },
      schema: {
        summary: 'Starts a login, or joins the one under way, and returns what to show.',
        params: NameParams,
        body: AccountBody,
        response: { 200: LoginReply },
      },
      handle: async ({ params, body }) => ({ ok: true, ...(await refuse(() => logins.start(targetOf(params, body)))) }),
    }),
    endpoint({
      method: 'GET',
      path: '/api/channels/:name/login',
      access: { needs: 'admin', scope: 'gateway' },
      schema: {
        summary: 'Returns what to show of the login under way, or how it ended.',
        params: NameParams,
        querystring: AccountBody,
        response: { 200: LoginReply },
      },
      handle: async ({ params, query }) => ({
        ok: true,
        ...(await refuse(async () => logins.status(targetOf(params, query)))),
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/channels/:name/login/answer',
      access: { needs: 'admin', scope: 'gateway', action: 'channel.login_answer', recordsAfter: true },
      schema: {
        summary: 'Answers the question of the login under way, and returns what follows.',
        params: NameParams,
        body: AnswerBody,
        response: { 200: LoginReply },
      },
      handle: async ({ params, body }) => ({
        ok: true,
        ...(await refuse(() => logins.answer(targetOf(params, body), body))),
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/channels/:name/login/cancel',
      access: { needs: 'admin', scope: 'gateway', action: 'channel.login_cancel', recordsAfter: true },
      schema: {
        summary: 'Ends the login that is under way, if there is one. Its codes are void.',
        params: NameParams,
        body: AccountBody,
        response: { 200: Done },
      },
      handle: async ({ params, body }) => {
        await refuse(() => logins.cancel(targetOf(params, body)))
        return { ok: true }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/channels/:name/logout',
      access: { needs: 'admin', scope: 'gateway', action: 'channel.logout', recordsAfter: true },
      schema: {
        summary: 'Unlinks an account, and ends a login that is under way.',
        params: NameParams,
        body: AccountBody,
        response: { 200: Done, ...failures(409) },
      },
      handle: async ({ params, body }) => {
        await refuse(() => logins.logout(targetOf(params, body)))
        return { ok: true }
      },
    }),
  ]
}

export const viewHealth = ({ state, since, reason }: Health<string>) => ({
  state,
  since: iso(since),
  ...(reason !== undefined && { reason }),
})

export const viewAccount = (account: ConnectionState) => ({ accountId: account.accountId, ...viewHealth(account) })

const targetOf = ({ name }: { name: string }, { account }: { account?: string }) => ({ channel: name, account })

/** The caller named something that is not there: 400 instead of 500. Other errors are those of the channel. */
async function refuse<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isInputError(error)) throw new GatewayError('invalid_request', error.message, { cause: error })
    throw new GatewayError('conflict', 'The channel could not do it; see the log of the gateway.', { cause: error })
  }
}

const NameParams = Type.Object({ name: Type.String({ description: 'The name of the channel, or an alias.' }) })
const AccountBody = Type.Object({
  account: Type.Optional(Type.String({ description: 'The account, if several are configured.' })),
})

const CheckBody = Type.Object({
  ...AccountBody.properties,
  to: Type.String({ minLength: 1, description: 'The recipient of the messages, such as yourself.' }),
  threadId: Type.Optional(Type.String({ minLength: 1, description: 'The thread in which they are sent.' })),
})

const CheckReply = Type.Object({
  ok: Type.Literal(true),
  checks: Type.Array(
    Type.Object({
      name: Type.Enum([...checkNames]),
      outcome: Type.Enum(['passed', 'failed', 'skipped'], { description: '`skipped`: the channel does not do this.' }),
      detail: Type.String({ description: 'Why it failed, or what a person should see.' }),
      ms: Type.Integer({ description: 'How long it took.' }),
    }),
  ),
})

const AnswerBody = Type.Object({
  ...AccountBody.properties,
  questionId: Type.String({ maxLength: 64, description: 'The `id` of the question.' }),
  answer: Type.String({ minLength: 1, maxLength: 1000, description: 'The answer. It is neither stored nor logged.' }),
})

export const AccountHealth = Type.Object({
  accountId: Type.String(),
  state: Type.Enum([...linkStates]),
  since: Time('When the account came into this state.'),
  reason: Type.Optional(Type.String({ description: 'Why the account is not connected.' })),
})

const AccountList = Type.Object({
  accounts: Type.Array(
    Type.Object({
      ...AccountHealth.properties,
      channel: Type.String(),
      hasLogin: Type.Boolean({ description: 'Whether the channel has a login.' }),
    }),
  ),
})

const LoginReply = Type.Object({
  ok: Type.Literal(true),
  account: Type.String(),
  status: Type.Enum(['waiting', 'linked', 'failed', 'not_linked']),
  qr: Type.Optional(Type.String({ description: 'The content of a QR code to scan. Anybody who has it can log in.' })),
  code: Type.Optional(Type.String({ description: 'A code to type into the app, or at `url`.' })),
  url: Type.Optional(Type.String({ description: 'An address to open in a browser.' })),
  question: Type.Optional(
    Type.Object(
      {
        id: Type.String(),
        text: Type.String(),
        secret: Type.Boolean({ description: 'Whether the answer must not be shown.' }),
      },
      { description: 'A question to answer with `POST /api/channels/{name}/login/answer`.' },
    ),
  ),
  reason: Type.Optional(Type.String({ description: 'Why the account is not linked.' })),
})
