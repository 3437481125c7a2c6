// Who cannot approve a call: an agent with any of its tools, and whoever guesses codes.
import { describe, expect, it, vi } from 'vitest'
import { codeIn } from './launch-pad.ts'
import { startApprovals } from './start-approvals.ts'

const hooks = { allowRequestSessionKey: true }

interface Known {
  /** The answer that an approver would write. */
  answer: string
  id: string
  sessionKey: string
  url: string
}

/** The best attempts with each tool. A tool without a row fails the test. */
const attempts: Readonly<Record<string, (known: Known) => object[]>> = {
  agents_list: () => [{}],
  cron: ({ answer }) => [
    { action: 'add', name: answer, message: answer, at: '1h', channel: 'chat-native', to: 'boss' },
  ],
  edit: ({ answer }) => [{ path: 'notes.md', old: 'x', new: answer }],
  exec: ({ answer, id, url }) => [
    { command: `echo '${answer}'` },
    { command: `curl -sS -X POST -d '{}' ${url}/api/approvals/${id}/approve` },
  ],
  explode: ({ answer }) => [{ answer }],
  gateway: ({ answer, id }) => [
    { action: 'config.patch', patch: { approvals: { approvers: ['bob'] } } },
    { action: 'config.patch', patch: { tools: { ask: [] } } },
    { action: 'config.get', path: `approvals.${id}` },
    { action: 'status', path: answer },
    { action: 'reload' },
  ],
  launch: ({ answer }) => [{ answer }],
  list: ({ answer }) => [{ path: answer }],
  look: ({ answer }) => [{ answer }],
  message: ({ answer }) => [
    { text: answer },
    { text: answer, channel: 'chat-native', to: 'boss' },
    { text: answer, channel: 'chat-native', to: 'ann' },
  ],
  post_outside: ({ answer }) => [{ answer }],
  read: ({ answer }) => [{ path: answer }],
  read_secret: ({ answer }) => [{ answer }],
  session_status: ({ answer }) => [{ sessionKey: answer }],
  sessions_history: ({ answer }) => [{ sessionKey: answer }],
  sessions_list: () => [{}],
  sessions_send: ({ answer, sessionKey }) => [{ sessionKey, message: answer, waitSeconds: 0 }],
  sessions_spawn: ({ answer }) => [{ task: answer, name: answer }],
  web_fetch: ({ id, url }) => [{ url: `${url}/api/approvals/${id}/approve` }],
  write: ({ answer }) => [{ path: 'notes.md', text: answer }],
}

describe('an agent', () => {
  it('cannot approve a call with any tool, whatever it knows', { timeout: 120_000 }, async () => {
    const gateway = await startApprovals({
      hooks,
      tools: { profile: 'full', alsoAllow: ['exec', 'group:pad'], ask: ['launch', 'explode'] },
    })
    const { ask, model, chat, get, say, conclude, steps, pad, url } = gateway
    const { runId, approval, question } = await ask({ wanted: true })
    const known: Known = {
      answer: `approve ${codeIn(question)}`,
      id: approval.id,
      sessionKey: approval.sessionKey,
      url,
    }
    const calls = Object.entries(attempts).flatMap(([tool, argsFor]) => argsFor(known).map((args) => ({ tool, args })))
    model.otherwise({ text: known.answer })
    model.script({ calls })
    const before = model.requests.length
    await chat.say({ text: 'Help yourself.', from: { id: 'bob' }, to: 'bob' })
    const { body } = await model.request(before)
    const offered = (body['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name)
    expect(offered.toSorted()).toEqual(Object.keys(attempts).toSorted())

    // The calls of `launch` and `explode` wait for approvals of their own.
    const own = await vi.waitUntil(
      async () => (await get('/api/runs?status=waiting')).body.items.find(isOfBob),
      patience,
    )
    const made = (await steps(own.id)).filter(({ kind }: { kind: string }) => kind === 'tool')
    expect(made.map(({ tool }: { tool: string }) => tool)).toEqual(calls.map(({ tool }) => tool))
    // None failed only because of a wrong argument.
    expect(JSON.stringify(made)).not.toMatch(/args\.\w+ is /)
    expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('waiting')
    expect((await get(`/runs/${runId}`)).body.status).toBe('waiting')
    expect(pad.launches()).not.toContainEqual({ wanted: true })
    const audit = (await get('/api/audit')).body.items as { action: string }[]
    expect(audit.filter(({ action }) => action.startsWith('approval.'))).toEqual([])
    // The code was right.
    expect(await conclude(runId, () => say(known.answer))).toBe('Approved. The call is made now.')
  })
})

const patience = { timeout: 30_000, interval: 20 }
const isOfBob = ({ kind }: { kind: string }): boolean => kind === 'channel'
