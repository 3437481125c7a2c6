// A recipient that does not fit the `target` schema of its channel is refused wherever it is named.
import { expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'

const refusal =
  'to does not fit the channel "chat-native" (The name of a room or a person, without "!"): ' +
  'it must match ^[^!]*[^!\\s][^!]*$.'

async function start(changes: Document = {}, settings: Document = {}) {
  const [chat, dir] = [await startChat(), temporaryFolder()]
  const channels = chat.config(dir, { 'chat-native': settings })
  return { chat, ...(await startGateway({ ...changes, ...channels }, dir)) }
}

it('returns 400 for a body', async () => {
  const { post } = await start()
  const answer = await post('/hooks/agent', { message: 'Go.', channel: 'chat-native', to: 'ann!' })
  expect([answer.status, answer.body.error]).toEqual([400, { type: 'invalid_request', message: refusal }])
  const ignored = await post('/hooks/agent', { message: 'Go.', channel: 'chat-native', to: 'ann!', deliver: false })
  expect(ignored.status).toBe(200)
})

it('returns 400 for a rendered template', async () => {
  const mapping = { match: { path: 'm' }, messageTemplate: 'Go.', channel: 'chat-native', to: '{{ who }}' }
  const { post } = await start({ hooks: { mappings: [mapping] } })
  expect((await post('/hooks/m', { who: 'ann!' })).body.error.message).toBe(refusal)
  expect((await post('/hooks/m', { who: 'ann' })).status).toBe(200)
})

it('fails the delivery when the channel is known only later', async () => {
  const { post, chat } = await start({}, { allowFrom: ['ann'] })
  await chat.say({})
  await chat.holds(1)
  expect((await post('/hooks/agent', { message: 'Go.', to: 'ann!' })).body.warnings).toEqual([refusal])
})

it.each<[string, Document, Document]>([
  ['hooks.mappings[0]', { hooks: { mappings: [{ messageTemplate: 'Go.', channel: 'chat-native', to: 'ann!' }] } }, {}],
  ['hooks.onFailure.to', { hooks: { onFailure: { channel: 'chat-native', to: 'ann!' } } }, {}],
  ['agents.defaults.heartbeat.to', { agents: { defaults: { heartbeat: { target: 'chat-native', to: 'ann!' } } } }, {}],
  ['channels.chat-native.defaultTo', {}, { defaultTo: 'ann!' }],
  ['channels.chat-native.accounts.a.defaultTo', {}, { accounts: { a: { defaultTo: 'ann!' } } }],
])('refuses the configuration for %s', async (path, changes, settings) => {
  const error = await start(changes, settings).then(
    () => undefined,
    (reason: Error) => reason,
  )
  expect(error?.message).toContain(path)
  expect(error?.message).toContain(refusal.slice(3, -1))
})

it('describes recipients in the OpenAPI document', async () => {
  const { get } = await start()
  const document = JSON.stringify((await get('/openapi.json')).body)
  expect(document).toContain('chat-native: The name of a room or a person, without \\"!\\".')
})
