// POST /hooks/wake: an event for the main session, which may wake the agent.
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { type RunningGateway, startGateway } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { share } from '../share.ts'

const quiet = { defaults: { heartbeat: { every: 0 } } }

describe('POST /hooks/wake', () => {
  const shared = share(() => startGateway({ agents: quiet }))
  const post: RunningGateway['post'] = (...args) => shared().post(...args)
  /** Tests of settings configure it. */
  const configured = share(() => startGateway({ agents: quiet }))

  it('accepts an event, with mode now by default', async () => {
    const { status, headers, body } = await post('/hooks/wake', { text: 'The build is green.' })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(body).toEqual({ ok: true, mode: 'now', eventId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    const second = await post('/hooks/wake', { text: 'Red again.', mode: 'next-heartbeat' })
    expect(second.body).toMatchObject({ ok: true, mode: 'next-heartbeat' })
    expect(second.body.eventId).not.toBe(body.eventId)
  })

  it('shows the text in the prompt of the main session, trimmed and wrapped as external content', async () => {
    const model = await startModel()
    model.script({ text: 'HEARTBEAT_OK' })
    const { post } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    })
    await post('/hooks/wake', { text: '  The build is green.\n' })
    expect(await model.prompt(0)).toMatch(
      /<<<OUTSIDE TEXT (\w{24})>>>\nSource: webhook wake\n---\nThe build is green\.\n<<<END OF OUTSIDE TEXT \1>>>/,
    )
  })

  it.each([
    ['no text', {}, 'text is required'],
    ['blank text', { text: ' \n\t' }, 'text must not be blank'],
    ['a text that is no string', { text: 5 }, 'text must be a string'],
    ['text null', { text: null }, 'text must be a string'],
    ['an unknown mode', { text: 'x', mode: 'later' }, 'mode must be one of "now", "next-heartbeat"'],
    ['a mode in upper case', { text: 'x', mode: 'NOW' }, 'mode must be one of'],
    ['a blank mode', { text: 'x', mode: '' }, 'mode must be one of'],
    ['mode null', { text: 'x', mode: null }, 'mode must be'],
    ['a list', [{ text: 'x' }], 'The body must be a JSON object'],
    ['null', 'null', 'The body must be a JSON object'],
    ['a string', '"text"', 'The body must be a JSON object'],
  ])('returns 400 for %s and names the field', async (_case, body, message) => {
    const answer = await post('/hooks/wake', body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      ok: false,
      error: { type: 'invalid_request', message: expect.stringContaining(message) },
    })
  })

  it('returns 400 for a body that is not JSON, and does not echo it', async () => {
    const { logged } = shared()
    for (const body of ['{"text": "canary', 'canary', Buffer.from([0xff, 0xfe]).toString('latin1') + '{']) {
      const answer = await post('/hooks/wake', body)
      expect(answer).toMatchObject({ status: 400, body: { error: { type: 'invalid_json' } } })
      expect(JSON.stringify(answer.body)).not.toContain('canary')
    }
    expect(logged.join('\n')).not.toContain('canary')
  })

  it('requires no content type, and ignores unknown fields', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json', 'nonsense']) {
      expect((await post('/hooks/wake', { text: 'x', extra: { deep: [1] } }, { 'content-type': type })).status).toBe(
        200,
      )
    }
  })

  it('returns 413 when the body exceeds hooks.maxBodyBytes by one byte', async () => {
    await reconfigure(configured(), { agents: quiet, hooks: { maxBodyBytes: 100 } })
    const { post } = configured()
    const body = (bytes: number) => `{"text":"${'x'.repeat(bytes - 11)}"}`
    expect((await post('/hooks/wake', body(100))).status).toBe(200)
    expect(await post('/hooks/wake', body(101))).toMatchObject({
      status: 413,
      body: { error: { type: 'payload_too_large' } },
    })
  })

  it('returns 404 while hooks are off', async () => {
    await reconfigure(configured(), { hooks: { enabled: false } })
    expect(await configured().post('/hooks/wake', { text: 'x' })).toMatchObject({
      status: 404,
      body: { error: { type: 'not_found' } },
    })
  })

  it('is served under hooks.path, whatever slashes surround it', async () => {
    await reconfigure(configured(), { agents: quiet, hooks: { path: 'in//' } })
    const { post } = configured()
    expect((await post('/in/wake', { text: 'x' })).status).toBe(200)
    expect((await post('/hooks/wake', { text: 'x' })).status).toBe(404)
  })
})
