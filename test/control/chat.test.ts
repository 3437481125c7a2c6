// Talking to an agent: what is listened to, and for how long.
import { expect, it } from 'vitest'
import { createDeltas } from '../../core/agents/deltas.ts'
import { type ChatDelta, createChat } from '../../core/control/chat.ts'
import type { AcceptCommand } from '../../core/store/store.ts'

const owner = { id: 'main', mainSession: 'agent:main:main' }

function openChat(accept: (command: AcceptCommand) => void) {
  const deltas = createDeltas()
  const runs = {
    accept: async (command: AcceptCommand) => {
      accept(command)
      return { outcome: 'accepted' } as const
    },
    ended: async () => {
      deltas.of('run-1')?.('Hello')
      return undefined
    },
  }
  return { deltas, chat: createChat({ runs, deltas, agents: { default: owner, get: () => owner }, createId: () => 'run-1', maxAttempts: 2 }) }
}

it('listens before the run is accepted, and no longer than it takes', async () => {
  const heard: ChatDelta[] = []
  const { deltas, chat } = openChat(({ runs }) => {
    expect(runs).toMatchObject([{ id: 'run-1', kind: 'chat', sessionKey: 'agent:main:main', spec: { message: 'Hi', deliver: null } }])
    expect(deltas.of('run-1')).toBeDefined()
  })
  expect(await chat({ text: 'Hi' }, (delta) => heard.push(delta))).toEqual({ runId: 'run-1', sessionKey: 'agent:main:main', status: 'queued' })
  expect(heard).toEqual([
    { runId: 'run-1', text: '' },
    { runId: 'run-1', text: 'Hello' },
  ])
  expect(deltas.of('run-1')).toBeUndefined()
})

it('listens to nothing when the run is not accepted', async () => {
  const { deltas, chat } = openChat(() => {
    throw new Error('full')
  })
  await expect(chat({ text: 'Hi' }, () => {})).rejects.toThrow('full')
  expect(deltas.of('run-1')).toBeUndefined()
})
