// The commands that people can write to an agent in a chat: /new, /stop and /status.
import { startConversation } from '../../sessions/conversation-start.ts'
import type { AcceptCommand, AuditedChange, AuditSource, Store } from '../../store/store.ts'

export interface ChatCommand {
  name: 'new' | 'stop' | 'status'
  /** The text after the command. */
  rest: string
}

/** A conversation in which somebody writes a command. */
interface CommandContext {
  sessionKey: string
  agent: { id: string; name: string; model: string }
  /** Who writes it, for the audit log. */
  source: AuditSource
}

export interface CommandResult extends Pick<AcceptCommand, 'state'> {
  answer: string
}

export interface ChatCommands {
  /** Carries out a command. Its answer and its `state` are still to be stored. */
  execute(command: ChatCommand, context: CommandContext): Promise<CommandResult>
}

interface ChatCommandsDeps {
  store: Pick<Store, 'listRuns' | 'getSessionCounts'>
  cancelRun(id: string, audit: AuditedChange): Promise<boolean>
  createId: () => string
}

/** Some platforms add the name of the bot: `/new@helper_bot`. */
const pattern = /^\/(new|stop|status)(?:@\S+)?(?:\s([^]*))?$/

export function parseChatCommand(text: string): ChatCommand | undefined {
  const [, name, rest = ''] = pattern.exec(text.trim()) ?? []
  return name === undefined ? undefined : { name: name as ChatCommand['name'], rest: rest.trim() }
}

export function createChatCommands({ store, cancelRun, createId }: ChatCommandsDeps): ChatCommands {
  async function stop(context: CommandContext): Promise<CommandResult> {
    // Queued runs first: when the running one ends, the next would start.
    const queued = await cancelRuns(context, 'queued')
    const others = [await cancelRuns(context, 'running'), await cancelRuns(context, 'waiting')]
    const count = others.reduce((sum, one) => sum + one, queued)
    return { answer: count === 0 ? 'There is nothing to stop.' : `Stopped: ${countOf(count, 'run')}.` }
  }

  /** @returns how many */
  async function cancelRuns(
    { sessionKey, agent, source }: CommandContext,
    status: 'queued' | 'running' | 'waiting',
  ): Promise<number> {
    let count = 0
    let before: number | undefined
    do {
      const { items, next } = await store.listRuns({ sessionKey, status }, { before, limit: 200 })
      for (const { id } of items)
        if (await cancelRun(id, { ...source, action: 'run.cancel', target: id, agentId: agent.id })) count++
      before = next
    } while (before !== undefined)
    return count
  }

  async function status({ agent, sessionKey }: CommandContext): Promise<CommandResult> {
    const { running, queued, waiting } = await store.getSessionCounts(sessionKey)
    const name = agent.name === agent.id ? agent.id : `${agent.id} (${agent.name})`
    const approvals = waiting > 0 ? `, ${waiting} waiting for an approval` : ''
    const work = `${countOf(running, 'run')} in progress, ${queued} waiting${approvals}`
    return { answer: `Agent: ${name}\nModel: ${agent.model}\nWork: ${work}` }
  }

  return {
    execute: async ({ name }, context) => {
      if (name === 'stop') return await stop(context)
      if (name === 'status') return await status(context)
      return { answer: 'A new conversation has started.', state: startConversation(context.sessionKey, createId()) }
    },
  }
}

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
