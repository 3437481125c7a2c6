// Why a channel could not connect: each reason names the service and its address, and what to check.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import discord from '../../channels/discord/index.ts'
import mattermost from '../../channels/mattermost/index.ts'
import msteams from '../../channels/msteams/index.ts'
import signal from '../../channels/signal/index.ts'
import slack from '../../channels/slack/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import { type Channel } from '../../core/plugin/plugin.ts'
import { connectError } from '../../core/kit/kit.ts'
import { createTestContext } from '../contracts/context.ts'

const secret = 'canary-credential-0123456789'
const cloud = { accessToken: secret, phoneNumberId: '1', verifyToken: secret, appSecret: secret }

interface Setup {
  channel: unknown
  name: string
  setting: string
  settings(url: string): object
}

const setups: Setup[] = [
  { channel: discord, name: 'Discord', setting: 'apiRoot', settings: (apiRoot) => ({ token: secret, apiRoot }) },
  {
    channel: mattermost,
    name: 'Mattermost',
    setting: 'baseUrl',
    settings: (baseUrl) => ({ botToken: secret, baseUrl }),
  },
  {
    channel: msteams,
    name: 'The token service of Microsoft',
    setting: 'tokenUrl',
    settings: (tokenUrl) => ({ appId: 'a', appPassword: secret, tenantId: 't', tokenUrl }),
  },
  {
    channel: signal,
    name: 'signal-cli',
    setting: 'httpUrl',
    settings: (httpUrl) => ({ account: '+15550000001', httpUrl }),
  },
  {
    channel: slack,
    name: 'Slack',
    setting: 'apiRoot',
    settings: (apiRoot) => ({ botToken: secret, appToken: secret, apiRoot: `${apiRoot}/` }),
  },
  {
    channel: telegram,
    name: 'Telegram',
    setting: 'apiRoot',
    settings: (apiRoot) => ({ botToken: `1:${secret}`, apiRoot }),
  },
  {
    channel: whatsapp,
    name: "WhatsApp's Cloud API",
    setting: 'apiRoot',
    settings: (apiRoot) => ({ ...cloud, apiRoot }),
  },
]

let page: Server
let status = 200
const portOf = (server: Server): number => (server.address() as AddressInfo).port
let unused: number

beforeAll(async () => {
  page = createServer((_request, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html>Log in to the network</html>'),
  )
  page.listen(0, '127.0.0.1')
  const other = createServer().listen(0, '127.0.0.1')
  await Promise.all([once(page, 'listening'), once(other, 'listening')])
  unused = portOf(other)
  other.close()
  await once(other, 'close')
})
afterAll(() => {
  page.closeAllConnections()
  page.close()
})

async function reasonOf({ channel, settings }: Setup, url: string): Promise<string> {
  const context = { ...createTestContext(), accountId: 'default', lost: () => undefined }
  const connecting = (channel as Channel<object>).connect(settings(url), {
    ...context,
    receive: async () => 'accepted',
  })
  const error: unknown = await connecting.then(
    (connection) => connection.close(),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(Error)
  expect(JSON.stringify(context.logged) + String((error as Error).stack)).not.toContain(secret)
  expect((error as Error).cause).toBeUndefined()
  return (error as Error).message
}

describe.each(setups)('$name', (setup) => {
  const { name, setting } = setup

  it('that does not listen', async () => {
    const url = `http://127.0.0.1:${unused}`
    const next =
      name === 'signal-cli' ? `Start it with: signal-cli daemon --http 127.0.0.1:${unused}` : `Check ${setting}.`
    expect(await reasonOf(setup, url)).toMatch(`${name} does not answer at ${url}: nothing listens there. `)
    expect(await reasonOf(setup, url)).toContain(next)
  })

  it('at an unknown host', async () => {
    const reason = await reasonOf(setup, 'http://no-such-host.invalid')
    expect(reason).toContain(
      `${name} does not answer at http://no-such-host.invalid: the name of the host is not known`,
    )
    expect(reason).toContain(`check ${setting}`)
  })

  it('without TLS at an address with https', async () => {
    const url = `https://127.0.0.1:${portOf(page)}`
    expect(await reasonOf(setup, url)).toBe(
      `${name} does not answer at ${url} with TLS; check ${setting}, ` +
        'perhaps it has to begin with http:// instead of https://.',
    )
  })

  it('behind a page of a proxy', async () => {
    const url = `http://127.0.0.1:${portOf(page)}`
    status = 200
    expect(await reasonOf(setup, url)).toBe(
      `What answers at ${url} is not ${name}; check ${setting}, and any proxy in between.`,
    )
  })

  it('behind a proxy that cannot reach it', async () => {
    status = 502
    expect(await reasonOf(setup, `http://127.0.0.1:${portOf(page)}`)).toMatch(
      // The library of Telegram does not show the status.
      name === 'Telegram' ? 'is not Telegram; check apiRoot' : `${name} answered 502`,
    )
  })
})

describe('connectError', () => {
  const service = { name: 'Pager', url: 'https://ann:secret@pager.example/api/?key=secret' }
  const failed = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) })

  it.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /its certificate is not trusted.*NODE_EXTRA_CA_CERTS/],
    ['CERT_HAS_EXPIRED', /its certificate is not trusted/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /its certificate is not trusted/],
    ['UND_ERR_CONNECT_TIMEOUT', /in time/],
    ['ENETUNREACH', /no network leads there/],
    ['ECONNRESET', /the connection broke \(ECONNRESET\)/],
  ])('explains %s', (code, reason) => {
    const { message } = connectError(failed(code), service)
    expect(message).toMatch(/^Pager does not answer at https:\/\/pager\.example\/api/)
    expect(message).toMatch(reason)
    expect(message).not.toContain('secret')
  })

  it('returns an error that is not of the network as it is', () => {
    const error = new Error('The account is closed.')
    expect(connectError(error, service)).toBe(error)
  })
})
