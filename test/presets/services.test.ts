// The mappings of docs/presets.md for services without a preset, run in a gateway with what the services really send.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import JSON5 from 'json5'
import { examples } from '../docs-examples.ts'
import { gatewayToken, hookToken, shareGateway } from '../helpers.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const secret = 'the-secret-of-the-service'

/** Mappings of the page by id, with the secret in place of each environment variable. */
const mappings = examples
  .filter(({ page, language }) => page === 'docs/presets.md' && language === 'json5')
  .flatMap(({ text }) => {
    const written = /^(?:\/\/.*\n)*\s*\{/.test(text) ? text : `{ ${text} }`
    const { hooks } = JSON5.parse<{ hooks?: { mappings?: { id: string }[] } }>(written.replace(/\$\{\w+\}/g, secret))
    return hooks?.mappings ?? []
  })

const hmac = (algorithm: string, text: string, encoding: 'hex' | 'base64') =>
  createHmac(algorithm, secret).update(text).digest(encoding)

describe('the services without a preset', () => {
  const { post, send } = shareGateway({
    gateway: { port: 0, auth: { token: gatewayToken }, publicUrl: 'https://gateway.example.com' },
    agents: { defaults: { heartbeat: { every: 0 } } },
    hooks: {
      mappings: mappings.map((mapping) => Object.assign(mapping, { deliver: false, wakeMode: 'next-heartbeat' })),
    },
  })

  it('are the five of the page', () => {
    expect(mappings.map(({ id }) => id)).toEqual(['dropbox', 'asana', 'trello', 'typeform', 'docker-hub'])
  })

  /** Sends a webhook, and returns the actions that it would start if it were sent again. */
  async function actionsOf(hook: string, payload: object, headersOf: (body: string) => Record<string, string>) {
    const body = JSON.stringify(payload)
    const { status } = await post(`/hooks/${hook}`, body, { authorization: '', ...headersOf(body) })
    expect(status).toBe(200)
    const list = await send(`/api/requests?limit=1&hook=${hook}`, { headers: operator })
    const [{ id }] = ((await list.json()) as { items: [{ id: string }] }).items
    return (await post(`/api/requests/${id}/replay`, { dryRun: true }, operator)).body.actions
  }

  it('Dropbox: the challenge, and one action for each account', async () => {
    const challenge = await send('/hooks/dropbox?challenge=abc_123')
    expect([challenge.status, await challenge.text()]).toEqual([200, 'abc_123'])
    expect(challenge.headers.get('x-content-type-options')).toBe('nosniff')
    const payload = { list_folder: { accounts: ['dbid:AAH4f99T', 'dbid:AAH5'] }, delta: { users: [12345678] } }
    const sign = (body: string) => ({ 'x-dropbox-signature': hmac('sha256', body, 'hex') })
    expect(await actionsOf('dropbox', payload, sign)).toMatchObject([
      { message: 'Files of the Dropbox account dbid:AAH4f99T have changed. List the changes.' },
      { sessionKey: 'agent:main:hook:dropbox:dbid:aah5' },
    ])
    expect((await post('/hooks/dropbox', payload)).status).toBe(401)
  })

  it('Asana: the header, an event, and the heartbeat without events', async () => {
    const handshake = await send('/hooks/asana', { method: 'POST', headers: { 'x-hook-secret': 'b537207f20cb' } })
    expect([handshake.status, handshake.headers.get('x-hook-secret')]).toEqual([200, 'b537207f20cb'])
    const story = { gid: '1200', resource_type: 'story', text: 'Looks good' }
    const event = {
      user: { gid: '987', resource_type: 'user' },
      created_at: '2026-08-21T18:20:37.972Z',
      action: 'added',
      resource: story,
    }
    const sign = (body: string) => ({ 'x-hook-signature': hmac('sha256', body, 'hex') })
    expect(await actionsOf('asana', { events: [event] }, sign)).toMatchObject([
      {
        message: 'Asana: story 1200 was added\nAt: 2026-08-21 18:20:37 UTC\nBy: 987\nComment: Looks good',
        sessionKey: 'agent:main:hook:asana:1200',
      },
    ])
    expect((await post('/hooks/asana', '{"events":[]}', sign('{"events":[]}'))).body).toEqual({
      ok: true,
      skipped: true,
    })
  })

  it('Trello: HEAD, a signature over body and URL, and noise that is skipped', async () => {
    expect((await send('/hooks/trello', { method: 'HEAD' })).status).toBe(200)
    const url = 'https://gateway.example.com/hooks/trello'
    const sign = (body: string) => ({ 'x-trello-webhook': hmac('sha1', body + url, 'base64') })
    const action = {
      id: '51f9424bcd6e040f3c002412',
      type: 'updateCard',
      memberCreator: { fullName: 'Ada' },
      data: { board: { name: 'Plans' }, card: { id: 'C1', name: 'Ship it' }, listAfter: { name: 'Done' } },
    }
    const message = 'Trello: Ada: updateCard\nBoard: Plans\nCard: Ship it\nList: Done'
    expect(await actionsOf('trello', { action, model: { id: 'B1' } }, sign)).toMatchObject([
      { message, sessionKey: 'agent:main:hook:trello:c1' },
    ])
    const noise = JSON.stringify({ action: { ...action, id: 'other', type: 'updateBoard' } })
    expect((await post('/hooks/trello', noise, sign(noise))).body).toEqual({ ok: true, skipped: true })
  })

  it('Typeform: a response to a form', async () => {
    const sign = (body: string) => ({ 'typeform-signature': `sha256=${hmac('sha256', body, 'base64')}` })
    const form_response = {
      form_id: 'lT4Z3j',
      token: 'a3a12ec67',
      submitted_at: '2026-01-18T18:17:02Z',
      definition: { id: 'lT4Z3j', title: 'Webhooks example' },
      answers: [
        { type: 'text', text: 'It is cold', field: { id: 'DlXF', type: 'long_text', ref: 'mood' } },
        {
          type: 'choices',
          choices: { labels: ['Mon', 'Tue'] },
          field: { id: 'K6TX', type: 'multiple_choice', ref: 'days' },
        },
        { type: 'boolean', boolean: false, field: { id: 'gFFf', type: 'yes_no', ref: 'sure' } },
      ],
    }
    expect(
      await actionsOf('typeform', { event_id: 'e1', event_type: 'form_response', form_response }, sign),
    ).toMatchObject([
      {
        message: [
          'Typeform: a response to "Webhooks example"',
          'Submitted: 2026-01-18 18:17:02 UTC',
          'Answers: 3',
          '',
          '- mood: It is cold\n- days: Mon, Tue\n- sure: false',
        ].join('\n'),
      },
    ])
    expect((await post('/hooks/typeform', '{"event_type":"x"}', sign('{"event_type":"x"}'))).status).toBe(404)
  })

  it('Docker Hub: a push, with the hook token that the proxy adds', async () => {
    const payload = {
      callback_url: 'https://hub.example.com/u/octo/shop/hook/1/',
      push_data: { pushed_at: 1_896_080_400, pusher: 'ada', tag: 'latest' },
      repository: {
        repo_name: 'octo/shop',
        repo_url: 'https://hub.example.com/u/octo/shop/',
      },
    }
    const withToken = () => ({ authorization: `Bearer ${hookToken}` })
    expect(await actionsOf('docker-hub', payload, withToken)).toMatchObject([
      {
        message: [
          'Docker Hub: ada pushed octo/shop:latest',
          'At: 2030-01-31 09:00:00 UTC',
          payload.repository.repo_url,
        ].join('\n'),
        sessionKey: 'agent:main:hook:docker-hub:octo/shop',
      },
    ])
    const cached = { ...payload, push_data: { ...payload.push_data, tag: 'cache-1' } }
    expect((await post('/hooks/docker-hub', cached)).body).toEqual({ ok: true, skipped: true })
  })
})
