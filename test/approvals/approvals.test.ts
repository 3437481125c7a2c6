// Approvals from end to end: the question, the answers, and what becomes of the run.
import { describe, expect, it } from 'vitest'
import { configurationAround, examples } from '../docs-examples.ts'
import { gatewayToken } from '../helpers.ts'
import { share } from '../share.ts'
import { codeIn, scriptCall, shownArgs } from './launch-pad.ts'
import { approvals, startApprovals } from './start-approvals.ts'

const hooks = { allowRequestSessionKey: true }
const shared = share(() => startApprovals({ hooks }))

describe('a call that a person must approve', () => {
  it('is shown with all that runs, lets its run wait, and is made when it is approved', async () => {
    const { ask, say, until, steps, pad, chat, get, conclude } = shared()
    const args = { target: 'moon', note: 'line one\nline two', 'é"\\': [1, null, { deep: true }] }
    const { runId, approval, question } = await ask(args)
    expect(pad.launches()).toEqual([])
    expect(shownArgs(question)).toEqual(args)
    expect(question).toMatch(/^agent: main$/m)
    expect(question).toMatch(/^origin: webhook agent, session agent:main:hook:/m)
    expect(question).toMatch(/^asked by: tools\.ask: \\"launch\\"$/m)
    expect(question).toMatch(/^tool: launch$/m)
    expect(question).toContain(`arguments: ${JSON.stringify(args).length} characters of JSON`)
    expect(approval).toMatchObject({ tool: 'launch', args, status: 'waiting', rule: 'tools.ask: "launch"', step: 2 })
    expect((await steps(runId))[1]).toMatchObject({ status: 'waiting', verdict: 'ask', rule: 'tools.ask: "launch"' })
    expect((await get('/api/runs?status=waiting')).body.items).toMatchObject([{ id: runId }])

    const count = chat.held.length
    const reply = await conclude(runId, () => say(`approve ${codeIn(question)}`))
    expect(reply).toBe('Approved. The call is made now.')
    const run = await until(runId, 'succeeded')
    expect(run.attempts).toMatchObject([{ reason: 'waiting' }, {}])
    expect(pad.launches()).toEqual([args])
    expect(await steps(runId)).toMatchObject([
      { kind: 'model', attempt: 1 },
      { kind: 'tool', attempt: 2, status: 'succeeded', result: 'launched', verdict: 'ask' },
      { kind: 'model', attempt: 2, text: 'Done.' },
    ])
    expect((await get(`/api/approvals/${approval.id}`)).body).toMatchObject({
      status: 'approved',
      answeredBy: { role: 'approver', via: 'chat-native', id: 'ann' },
    })
    // The place that was asked is told who answered, and how the call ended.
    const told = (await chat.holds(count + 3)).slice(count).filter(({ to }) => to === 'boss')
    expect(told.map(({ text }) => text)).toEqual([
      'The call of `launch` of the agent `main` was approved by an approver on chat-native.',
      'The approved call of `launch` of the agent `main` has succeeded.',
    ])
  })

  it('is answered with one message to the person who was asked', async () => {
    const { ask, conclude, chat } = await startApprovals({ hooks, approvals: { ...approvals, to: 'ann' } })
    const { runId, question } = await ask({ once: true })
    // Some platforms address a person by the id of the person, and give a direct message an id of its own.
    const answer = { text: `approve ${codeIn(question)}`, from: { id: 'ann' }, to: 'direct-7' }
    await conclude(runId, () => chat.say(answer))
    const told = (await chat.holds(3)).slice(1).map(({ to, text }) => [to, text] as const)
    expect(Object.fromEntries(told)).toEqual({
      'direct-7': 'Approved. The call is made now.',
      ann: 'The approved call of `launch` of the agent `main` has succeeded.',
    })
    expect(told).toHaveLength(2)
  })

  it('is made with the arguments that were shown, not with those of the model', async () => {
    const { ask, say, conclude, pad } = shared()
    const { runId, question } = await ask({ note: 'half a pair: \ud83d' })
    expect(shownArgs(question)).toEqual({ note: 'half a pair: \ufffd' })
    await conclude(runId, () => say(`approve ${codeIn(question)}`))
    expect(pad.launches()).toContainEqual({ note: 'half a pair: \ufffd' })
  })

  it('is not made when it is denied; the model reads by whom, and why', async () => {
    const { ask, say, conclude, steps, pad, model } = shared()
    const { runId, question } = await ask({ denied: true })
    const reply = await conclude(runId, () => say(`deny ${codeIn(question)}  too\nexpensive `))
    expect(reply).toBe('Denied. The agent reads that this call was denied.')
    expect(pad.launches()).not.toContainEqual({ denied: true })
    expect((await steps(runId))[1]).toMatchObject({
      status: 'refused',
      error: 'The approver denied this call: too expensive',
    })
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('The approver denied this call: too expensive')
  })

  it('is answered over the API, with the role of the client', async () => {
    const { ask, conclude, steps, post, get } = shared()
    const approved = await ask({ api: 1 })
    const path = (id: string, verb: string) => `/api/approvals/${id}/${verb}`
    const { status, body } = await conclude(approved.runId, () => post(path(approved.approval.id, 'approve'), {}))
    expect([status, body.status, body.answeredBy]).toEqual([
      200,
      'approved',
      { role: 'admin', via: 'http', id: 'gateway' },
    ])
    const denied = await ask({ api: 2 })
    await conclude(denied.runId, () => post(path(denied.approval.id, 'deny'), { reason: 'No.' }))
    expect((await steps(denied.runId))[1].error).toBe('The admin denied this call: No.')
    const audit = (await get('/api/audit')).body.items.filter(({ action }: { action: string }) =>
      action.startsWith('approval.'),
    )
    expect(audit.slice(0, 2)).toMatchObject([
      { action: 'approval.deny', target: denied.approval.id, outcome: 'done' },
      { action: 'approval.approve', target: approved.approval.id, outcome: 'done' },
    ])
  })

  it('does not hold up the other calls of the same answer', async () => {
    const { model, send, until, steps, get, post } = shared()
    const calls = [
      { tool: 'look', args: {} },
      { tool: 'launch', args: { n: 1 } },
      { tool: 'launch', args: { n: 2 } },
    ]
    model.script({ calls })
    const runId = await send('hook:several')
    await until(runId, 'waiting')
    expect(await steps(runId)).toMatchObject([
      {},
      { status: 'succeeded' },
      { status: 'waiting' },
      { status: 'waiting' },
    ])
    const [second, first] = (await get(`/api/approvals?runId=${runId}`)).body.items
    await post(`/api/approvals/${second.id}/approve`, {})
    // The first one still waits, and the second one is made already.
    for (;;) {
      const made = await steps(runId)
      if (made[3].status === 'succeeded') break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await until(runId, 'waiting')
    model.script({ text: 'Done.' })
    await post(`/api/approvals/${first.id}/deny`, {})
    await until(runId, 'succeeded')
    expect((await steps(runId)).map(({ status }: { status: string }) => status)).toEqual([
      'succeeded',
      'succeeded',
      'refused',
      'succeeded',
      'succeeded',
    ])
  })

  it('is refused at once if its arguments do not fit, or nobody may use the tool', async () => {
    const { model, send, until, get } = shared()
    model.script({ tool: 'exec', args: { command: 'ls' } }, { text: 'Done.' })
    const runId = await send('hook:denied')
    await until(runId, 'succeeded')
    expect((await get(`/api/approvals?runId=${runId}`)).body.items).toEqual([])
  })

  it('tells the approver that it failed, without what the tool threw', async () => {
    const { ask, say, conclude, chat } = shared()
    const { runId, question } = await ask({}, { tool: 'explode' })
    const count = chat.held.filter(({ to }) => to === 'boss').length
    await conclude(runId, () => say(`approve ${codeIn(question)}`))
    const told = (await chat.holds(count + 2, 'boss')).slice(count)
    expect(told.at(-1)!.text).toBe('The approved call of `explode` of the agent `main` has failed.')
  })

  it('lets a person go on in the conversation whose run waits', async () => {
    const { model, chat, get, post, until, pad } = shared()
    scriptCall(model, { person: true })
    const say = (text: string) => chat.say({ text, from: { id: 'bob' }, to: 'bob' })
    expect(await say('Launch, please.')).toBe('accepted')
    const waiting = async () => (await get('/api/runs?status=waiting')).body.items
    await expect.poll(waiting).toMatchObject([{ kind: 'channel' }])
    const [{ id: runId, sessionKey }] = await waiting()
    model.script({ text: 'I still wait for an approval.' })
    expect(await say('Are you there?')).toBe('accepted')
    expect((await chat.holds(1, 'bob'))[0]!.text).toBe('I still wait for an approval.')
    expect(await waiting()).toMatchObject([{ id: runId, sessionKey }])
    const [approval] = (await get(`/api/approvals?runId=${runId}`)).body.items
    model.script({ text: 'Launched.' })
    expect((await post(`/api/approvals/${approval.id}/approve`, {})).status).toBe(200)
    expect((await chat.holds(2, 'bob'))[1]!.text).toBe('Launched.')
    expect(await until(runId, 'succeeded')).toMatchObject({ sessionKey })
    expect(pad.launches()).toContainEqual({ person: true })
  })

  it('holds no slot, and its later runs wait behind it', async () => {
    const { model, ask, until, post, send, get } = await startApprovals({
      hooks: { ...hooks, maxQueuedRuns: 50 },
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 }, maxConcurrent: 1 } },
    })
    const { runId, approval } = await ask({}, { session: 'hook:lane' })
    model.script({ text: 'Elsewhere.' })
    const other = await send('hook:other', { prefer: 'wait=20' })
    expect(await until(other, 'succeeded')).toMatchObject({ reply: 'Elsewhere.' })
    const later = await send('hook:lane')
    expect((await get(`/runs/${later}`)).body.status).toBe('queued')
    model.script({ text: 'Done.' }, { text: 'Later.' })
    await post(`/api/approvals/${approval.id}/approve`, {})
    expect(await until(runId, 'succeeded')).toMatchObject({ reply: 'Done.' })
    expect(await until(later, 'succeeded')).toMatchObject({ reply: 'Later.' })
  })
})

describe('an answer that comes too late', () => {
  it('gets one clear sentence: of two at once, one counts', async () => {
    const { ask, say, conclude, post } = shared()
    const { runId, approval, question } = await ask({ twice: true })
    const code = codeIn(question)
    const answerTwice = () => Promise.all([say(`approve ${code}`), post(`/api/approvals/${approval.id}/deny`, {})])
    const [chatReply, { status, body }] = await conclude(runId, answerTwice)
    if (status === 200) expect(chatReply).toBe('This call was already denied.')
    else
      expect([chatReply, status, body.error.message]).toEqual([
        'Approved. The call is made now.',
        409,
        'This call was already approved.',
      ])
    expect(await say(`approve ${code}`)).toMatch(/^This call was already (approved|denied)\.$/)
  })

  it('after the end of the time', async () => {
    const { ask, say, conclude, steps, chat, get } = await startApprovals({
      hooks,
      approvals: { ...approvals, timeout: '2s' },
    })
    const { runId, approval, question } = await ask({})
    await conclude(runId, async () => undefined)
    expect((await steps(runId))[1]).toMatchObject({
      status: 'refused',
      error: 'Nobody approved this call in time, so it was denied.',
    })
    expect(await say(`approve ${codeIn(question)}`)).toBe('The time to answer is over, so this call was denied.')
    expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('expired')
    expect((await chat.holds(2, 'boss'))[1]!.text).toBe(
      'The call of `launch` of the agent `main` was denied: nobody answered in time.',
    )
  })

  it('for a run that was cancelled meanwhile', async () => {
    const { ask, say, post, get, chat, pad } = shared()
    const { runId, approval, question } = await ask({ cancelled: true })
    const count = chat.held.filter(({ to }) => to === 'boss').length
    expect((await post(`/api/runs/${runId}/cancel`, {})).status).toBe(200)
    expect((await get(`/runs/${runId}`)).body.status).toBe('cancelled')
    expect((await get(`/runs/${runId}/steps`)).body.items[1].status).toBe('refused')
    const sentence = 'The run of this call has ended, so the call is not made.'
    expect(await say(`approve ${codeIn(question)}`)).toBe(sentence)
    expect((await post(`/api/approvals/${approval.id}/approve`, {})).body.error.message).toBe(sentence)
    expect((await chat.holds(count + 1, 'boss'))[count]!.text).toBe(
      'The call of `launch` of the agent `main` is not made: its run has ended.',
    )
    expect(pad.launches()).not.toContainEqual({ cancelled: true })
  })
})

const wrongCode = 'No call waits for an answer with this code.'

describe('nobody else can approve', () => {
  it('a stranger in the same group, a copied display name, a webhook, the sender of the message', async () => {
    const { ask, say, conclude, post, model, get } = shared()
    const { runId, approval, question } = await ask({ stranger: true })
    const text = `approve ${codeIn(question)}`
    const room = { to: 'room', group: 'group', mentioned: true }
    expect(await say(text, { id: 'eve' }, room)).toBe('ignored')
    expect(await say(text, { id: 'eve', name: 'ann' } as never)).toBe('ignored')
    // bob may write to the agent, but is no approver.
    expect(await say(text, { id: 'bob', name: 'Ann' } as never)).toBe('ignored')
    model.script({ text: 'I read it.' })
    const body = { message: text, deliver: false, wakeMode: 'next-heartbeat' }
    await post('/hooks/agent', body, { prefer: 'wait=20' })
    expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('waiting')
    expect((await get(`/runs/${runId}`)).body.status).toBe('waiting')
    await conclude(runId, () => post(`/api/approvals/${approval.id}/deny`, {}))
    // The agent, which bob may write to, does not read it later either.
    expect(await say(text, { id: 'bob' })).toBe('ignored')
  })

  it('the approver of another agent', async () => {
    const { ask, say, get, post, conclude } = await startApprovals({
      hooks,
      agents: { main: { model: 'double/m' }, ops: { approvals: { approvers: ['carl'] } } },
    })
    const { runId, question, approval } = await ask({})
    expect(await say(`approve ${codeIn(question)}`, { id: 'carl' })).toBe(wrongCode)
    expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('waiting')
    await conclude(runId, () => post(`/api/approvals/${approval.id}/deny`, {}))
  })

  it('an approver on another account of the channel', async () => {
    const { ask, chat, get, conclude } = await startApprovals(
      { hooks, approvals: { ...approvals, accountId: 'first' } },
      { accounts: { first: {}, second: {} } },
    )
    const { runId, question, approval } = await ask({})
    const answer = { text: `approve ${codeIn(question)}`, from: { id: 'ann' } }
    await chat.sayTo('second', { ...answer, to: 'elsewhere' })
    expect((await chat.holds(1, 'elsewhere'))[0]?.text).toBe(wrongCode)
    expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('waiting')
    await conclude(runId, () => chat.sayTo('first', { ...answer, to: 'here' }))
    expect((await chat.holds(1, 'here'))[0]?.text).toBe('Approved. The call is made now.')
  })

  it('a code of another approval, a used one, and many guesses, after which no answer counts for a while', async () => {
    const { ask, say, get, post, conclude } = await startApprovals({ hooks })
    const [first, second] = [await ask({ n: 1 }), await ask({ n: 2 })]
    const reply = await conclude(first.runId, () => say(`approve ${codeIn(first.question)}`))
    expect(reply).toBe('Approved. The call is made now.')
    expect(await say(`approve ${codeIn(first.question)}`)).toBe('This call was already approved.')
    expect((await get(`/api/approvals/${second.approval.id}`)).body.status).toBe('waiting')
    for (let guess = 0; guess < 5; guess++) expect(await say(`approve ABCDEFG${guess + 2}`)).toBe(wrongCode)
    expect(await say(`approve ${codeIn(second.question)}`)).toBe(
      'There were too many wrong codes; wait 10 minutes, or use "svc-gateway approvals".',
    )
    await conclude(second.runId, () => post(`/api/approvals/${second.approval.id}/approve`, {}))
    expect((await post('/api/approvals/unknown/approve', {})).body.error.type).toBe('approval_not_found')
  })

  it('a person whom the configuration does not list, and no approver with a condition', async () => {
    const { ask, say, get, conclude } = await startApprovals({
      hooks,
      approvals: { ...approvals, approvers: ['ann', 'carl'] },
    })
    const { runId, question, approval } = await ask({})
    expect(await say(`approve ${codeIn(question)}`, { id: 'dora' })).toBe('ignored')
    expect(await say(`approve ${codeIn(question)} if it is cheap`)).toBe('ignored')
    expect((await get(`/api/approvals/${approval.id}`)).body.status).toBe('waiting')
    const reply = await conclude(runId, () => say(`Approve ${codeIn(question).toLowerCase()}`, { id: 'CARL' }))
    expect(reply).toBe('Approved. The call is made now.')
  })
})

describe('calls that are asked for elsewhere', () => {
  it('wait over MCP for the answer, and run at once over HTTP for whoever may approve', async () => {
    const { post, get, pad, say, chat, url } = shared()
    const before = chat.held.length
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'launch', arguments: { mcp: 1 } } }
    const mcp = fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gatewayToken}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify(call),
    })
    const question = (await chat.holds(before + 1))[before]!.text
    expect(shownArgs(question)).toEqual({ mcp: 1 })
    expect(question).toMatch(/^origin: client of \/mcp, session agent:main:main$/m)
    expect(await say(`approve ${codeIn(question)}`)).toBe('Approved. The call is made if its client still waits.')
    expect(await (await mcp).text()).toContain('launched')
    expect(pad.launches()).toContainEqual({ mcp: 1 })
    // As for a run, the place that was asked is told how the call has ended.
    const asked = () => chat.held.filter(({ to }) => to === 'boss').map(({ text }) => text)
    await expect.poll(asked).toContain('The approved call of `launch` of the agent `main` has succeeded.')
    const body = { tool: 'launch', args: { http: 1 } }
    expect(await post('/tools/invoke', body, { authorization: `Bearer ${gatewayToken}` })).toMatchObject({
      status: 200,
      body: { result: 'launched' },
    })
    const { items } = (await get('/tools')).body
    expect(items.find(({ name }: { name: string }) => name === 'launch')).toMatchObject({
      verdict: 'ask',
      rule: 'tools.ask: "launch"',
    })
  })

  it('are asked for where the rule of two would withhold them, if the configuration says so', async () => {
    const { model, send, until, conclude, steps, get, post, pad } = await startApprovals({
      hooks,
      tools: { allow: ['group:pad'], byOrigin: { hook: { beyondRuleOfTwo: 'ask' } } },
    })
    model.script({ tool: 'read_secret', args: {} }, { tool: 'post_outside', args: { to: 'evil' } })
    const runId = await send('hook:two')
    await until(runId, 'waiting')
    expect(await steps(runId)).toMatchObject([
      {},
      { status: 'succeeded', verdict: 'allow' },
      {},
      {
        status: 'waiting',
        verdict: 'ask',
        rule: expect.stringContaining('the rule of two: the turn sees text from outside'),
      },
    ])
    const [{ id, rule }] = (await get(`/api/approvals?runId=${runId}`)).body.items
    expect(rule).toContain('private things have been read')
    expect(pad.launches()).toEqual([])
    await conclude(runId, () => post(`/api/approvals/${id}/approve`, {}))
    expect(pad.launches()).toEqual([{ to: 'evil' }])
  })
})

describe('an approval', () => {
  it('does not lift the rule of two if the other effect happens before the answer', async () => {
    const { model, send, until, conclude, steps, get, post, pad } = await startApprovals({
      hooks,
      tools: { allow: ['group:pad'], ask: ['read_secret', 'post_outside'] },
    })
    const calls = [
      { tool: 'post_outside', args: { to: 'evil' } },
      { tool: 'read_secret', args: {} },
    ]
    model.script({ calls })
    const runId = await send('hook:between')
    await until(runId, 'waiting')
    const { items } = (await get(`/api/approvals?runId=${runId}`)).body
    const approve = (tool: string) =>
      post(`/api/approvals/${items.find((one: { tool: string }) => one.tool === tool).id}/approve`, {})
    await approve('read_secret')
    await expect.poll(async () => (await steps(runId))[2].status).toBe('succeeded')
    await until(runId, 'waiting')
    await conclude(runId, () => approve('post_outside'))
    expect((await steps(runId))[1]).toMatchObject({
      status: 'refused',
      error: expect.stringContaining('post_outside is withheld: this turn sees text from outside and private'),
    })
    expect(pad.launches()).toEqual([])
  })
})

describe('arguments that cannot be shown in the chat', () => {
  it('because they are too long or hold a secret have no code, and are approved over the API', async () => {
    const { ask, conclude, post, pad, get } = shared()
    const long = { padding: ' '.repeat(100_000), command: 'rm -rf /' }
    const { runId, approval, question } = await ask(long)
    const length = JSON.stringify(long).length
    expect(question).toContain(`arguments: ${length} characters of JSON\n`)
    expect(question).toContain(`Its arguments have ${length} characters, which are too many to show here`)
    expect(question).not.toMatch(/approve [A-Z2-9]{8}/)
    expect(approval).toMatchObject({ argsLength: length })
    expect(approval.args).toBeUndefined()
    expect((await get(`/api/approvals/${approval.id}`)).body.args).toEqual(long)
    await conclude(runId, () => post(`/api/approvals/${approval.id}/approve`, {}))
    expect(pad.launches()).toContainEqual(long)
    const hidden = await ask({ token: gatewayToken })
    expect(hidden.question).toContain('Its arguments hold a secret of the configuration, which is not shown here')
    expect(hidden.question).not.toContain(gatewayToken)
    expect(hidden.approval).toMatchObject({ args: { token: '[redacted]' }, hidesSecrets: true })
    await conclude(hidden.runId, () => post(`/api/approvals/${hidden.approval.id}/deny`, {}))
  })
})

it('asks as the first example of docs/approvals.md and its message say, and makes the call', async () => {
  const [example, message] = examples.filter(({ page }) => page === 'docs/approvals.md')
  const { tools } = configurationAround(example!)
  const { ask, say, steps, conclude } = await startApprovals({ hooks, tools })
  const shown = /^1\| (.*)$/m.exec(message!.text)![1]!
  const { runId, question } = await ask(JSON.parse(shown) as object, { tool: 'exec' })
  for (const start of ['asked by: ', 'tool: ', 'arguments: ', '1| ']) {
    const line = message!.text.split('\n').find((one) => one.startsWith(start))
    expect(question.split('\n')).toContain(line)
  }
  await conclude(runId, () => say(`approve ${codeIn(question)}`))
  expect((await steps(runId))[1]).toMatchObject({
    tool: 'exec',
    verdict: 'ask',
    result: { exitCode: expect.any(Number) },
  })
})
