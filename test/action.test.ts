// The fields of an action: whatever is in the schema is accepted by mappings and transforms and shown by a dry run.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type ActionField,
  actionFields,
  type ActionOverrides,
  annotationsOf,
  isTemplateField,
  overrideFields,
  templateKeys,
} from '../core/action.ts'
import { findFaults } from '../core/loader/verify.ts'
import { definePreset, Type, type Static } from '../core/plugin/plugin.ts'
import { createResultReader } from '../core/sandbox/result.ts'
import { compileCheck } from '../core/typebox.ts'
import { createAgentBody, WakeBody } from '../core/hooks/schemas.ts'
import { ReplayReply } from '../core/control/replay-reply.ts'
import { gatewayToken, startGateway, temporaryFolder } from './helpers.ts'

const fields = Object.keys(actionFields) as ActionField[]
/** One value for each field. A new field needs one here. */
const samples = {
  action: 'agent',
  message: 'Look at this.',
  text: 'Something came.',
  name: 'CI',
  agentId: 'helper',
  sessionKey: 'hook:builds',
  wakeMode: 'next-heartbeat',
  deliver: true,
  channel: 'telegram',
  to: '123456789',
  accountId: 'second',
  threadId: '7',
  model: 'builtin/rules',
  thinking: 'low',
  timeoutSeconds: 1.5,
} satisfies Required<Omit<ActionOverrides, 'idempotencyKey'>>

describe('the schema of an action', () => {
  it('has the fields, the types and the sentences of ActionOverrides', () => {
    type Overrides = Partial<Static<Type.TObject<typeof overrideFields>>>
    expectTypeOf<Overrides>().branded.toEqualTypeOf<ActionOverrides>()
    const [, body = ''] = /export interface ActionOverrides \{\n([^]*?)\n\}/.exec(read('core/action.ts')) ?? []
    const documented = Array.from(body.matchAll(/\/\*\*([^]*?)\*\/\s+(\w+)\?/g), ([, comment = '', field]) => [
      field,
      comment.replaceAll(/\s*\n\s*\* /g, ' ').trim(),
    ])
    expect(documented).toEqual(
      Object.entries(overrideFields).map(([field, schema]) => [field, annotationsOf(schema).description]),
    )
  })

  it('has a sample value for each field', () => {
    expect(Object.keys(samples)).toEqual(fields)
  })
})

const { action: _action, ...values } = samples
/** The same values as the keys of a mapping. */
const mapped = Object.fromEntries(
  Object.entries(values).map(([field, value]) => [isTemplateField(field) ? templateKeys[field] : field, value]),
)

/** A gateway with a mapping that sets every field, and one whose transform returns the payload as its result. */
async function startDryRuns() {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'transforms'))
  writeFileSync(join(dir, 'transforms', 'echo.js'), 'export default ({ payload }) => payload')
  const mappings = ['agent', 'wake'].flatMap((action) => [
    { id: `${action} mapping`, match: { path: `${action}-mapping` }, action, ...mapped },
    { id: `${action} transform`, match: { path: `${action}-transform` }, action, transform: { module: 'echo.js' } },
  ])
  const { post, get } = await startGateway({ agents: { main: {}, helper: {} }, hooks: { mappings } }, dir)
  await post('/hooks/wake', { text: 'Any request.', mode: 'next-heartbeat' })
  const [{ id }] = (await get('/api/requests')).body.items
  return async (mapping: string) => {
    const body = { dryRun: true, mapping, body: values }
    const reply = await post(`/api/requests/${id}/replay`, body, { authorization: `Bearer ${gatewayToken}` })
    expect(reply.body).toMatchObject({ ok: true })
    return reply.body.actions[0] as Record<string, unknown>
  }
}

describe('each field of an action', () => {
  it.each(['mapping', 'transform'])('is accepted from a %s and shown by a dry run', async (source) => {
    const dryRun = await startDryRuns()
    const agent = await dryRun(`agent ${source}`)
    const wake = await dryRun(`wake ${source}`)
    expect(fields.filter((field) => !Object.hasOwn(agent, field) && !Object.hasOwn(wake, field))).toEqual([])
    const { text, ...expected } = { ...samples, sessionKey: 'agent:helper:hook:builds' }
    expect(agent).toMatchObject(expected)
    const { sessionKey, agentId, wakeMode } = expected
    expect(wake).toMatchObject({ action: 'wake', text, sessionKey, agentId, mode: wakeMode })
  })

  it.each(fields)('is part of a result, a body and the reply of a dry run: %s', (field) => {
    expect(createResultReader()(JSON.stringify({ [field]: samples[field] }))).toEqual({ [field]: samples[field] })
    const bodies = { ...WakeBody.properties, ...createAgentBody(new Map()).properties, action, accountId, threadId }
    expect(bodies).toHaveProperty(field)
    const check = compileCheck(ReplayReply)
    expect(check.fits({ ok: true, actions: [{ action: 'agent', [field]: samples[field] }] })).toBe(true)
    expect(check.fits({ ok: true, actions: [{ action: 'agent', [field]: {} }] })).toBe(false)
  })

  it.each(Object.keys(mapped))('is a key that no preset may declare as its own: %s', (key) => {
    const config = Type.Object({ [key]: Type.String() })
    const preset = definePreset({ name: 'x', description: 'X.', payload: Type.Object({}), mapping: {}, config })
    const [fault] = findFaults(preset)
    expect(fault?.problem).toContain(`declares "${key}"`)
  })
})

/** Only a mapping or a transform may set these. */
const { action, accountId, threadId } = actionFields

function read(path: string): string {
  return readFileSync(join(import.meta.dirname, '..', path), 'utf8')
}
