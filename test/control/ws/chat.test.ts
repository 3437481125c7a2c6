// Tests the subscription to the reply stream during a chat.
import { expect, it } from 'vitest'
import { createReplyStreams } from '../../../core/agents/reply-stream.ts'
import { type ChatCaller, type ChatDelta, createChat } from '../../../core/control/ws/chat.ts'
import { ownPrincipal } from '../../../core/http/access.ts'
import type { AcceptCommand } from '../../../core/store/store.ts'

const owner = { id: 'main', mainSession: 'agent:main:main' }

function openChat(accept: (command: AcceptCommand) => void) {
  const replyStreams = createReplyStreams()
  const runs = {
    accept: async (command: AcceptCommand) => {
      accept(command)
      return { outcome: 'accepted' } as const
    },
    waitForEnd: async () => {
      replyStreams.getListener('run-1')?.('Hello')
      return undefined
    },
  }
  return {
    replyStreams,
    chat: createChat({
      runs,
      replyStreams,
      agents: { default: owner, get: () => owner },
      createId: () => 'run-1',
      maxAttempts: 2,
    }),
  }
}

const own = {
  principal: ownPrincipal,
  source: { actor: { kind: 'client', name: 'gateway' }, via: 'websocket' },
} satisfies ChatCaller

it('subscribes before the run is accepted, and unsubscribes when it ends', async () => {
  const deltas: ChatDelta[] = []
  const { replyStreams, chat } = openChat(({ runs }) => {
    expect(runs).toMatchObject([
      { id: 'run-1', kind: 'chat', sessionKey: 'agent:main:main', spec: { message: 'Hi', deliver: null } },
    ])
    expect(replyStreams.getListener('run-1')).toBeDefined()
  })
  expect(await chat({ text: 'Hi' }, own, (delta) => deltas.push(delta))).toEqual({
    runId: 'run-1',
    sessionKey: 'agent:main:main',
    status: 'queued',
  })
  expect(deltas).toEqual([
    { runId: 'run-1', text: '' },
    { runId: 'run-1', text: 'Hello' },
  ])
  expect(replyStreams.getListener('run-1')).toBeUndefined()
})

it('unsubscribes when the run is not accepted', async () => {
  const { replyStreams, chat } = openChat(() => {
    throw new Error('full')
  })
  await expect(chat({ text: 'Hi' }, own, () => {})).rejects.toThrow('full')
  expect(replyStreams.getListener('run-1')).toBeUndefined()
})
