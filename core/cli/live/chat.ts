// The command `chat`: talks to an agent. In a terminal it reads messages until Ctrl-D; a pipe is one message.
import { text as readAll } from 'node:stream/consumers'
import { createInterface, type Interface } from 'node:readline/promises'
import type { ChatDelta, ChatReply } from '../../control/ws/chat.ts'
import { CommandError, exitCodes } from '../../plugin/errors.ts'
import { type ControlOptions, locateGateway } from '../control-client.ts'
import { escapeForTerminal } from '../../kit/escape-for-terminal.ts'
import { connectRpc, type Rpc } from './rpc-client.ts'

interface ChatOptions extends ControlOptions {
  session?: string
  json?: boolean
}

/** Sends a message, streams the reply, and resolves with it. */
interface Conversation extends Disposable {
  say(text: string): Promise<ChatReply>
  /** Cancels the turn. Returns false if there is none, or if it is being cancelled. */
  cancel(): boolean
}

export async function chat(message: string | undefined, options: ChatOptions): Promise<void> {
  const isInteractive = message === undefined && process.stdin.isTTY
  const text = isInteractive ? undefined : (message ?? (await readAll(process.stdin))).trim()
  if (text === '') throw new CommandError('The message is empty; give it as an argument or on standard input.')
  using conversation = await startConversation(options)
  await (text === undefined ? talk(conversation, options) : askOnce(text, conversation, options))
}

async function startConversation({ session, json, ...options }: ChatOptions): Promise<Conversation> {
  let runId: string | undefined
  let isCancelling = false
  let hasStreamed = false
  const onDelta = (delta: ChatDelta): void => {
    runId = delta.runId
    if (json || delta.text === '') return
    hasStreamed = true
    process.stdout.write(escapeForTerminal(delta.text))
  }
  const rpc: Rpc = await connectRpc(locateGateway(options), (_method, params) => onDelta(params as ChatDelta))
  return {
    async say(text) {
      runId = undefined
      isCancelling = hasStreamed = false
      try {
        const reply = (await rpc.call('chat.send', { sessionKey: session, text })) as ChatReply
        process.stdout.write(json ? `${JSON.stringify(reply)}\n` : `${hasStreamed ? '' : describe(reply)}\n`)
        return reply
      } finally {
        runId = undefined
      }
    },
    cancel() {
      if (runId === undefined || isCancelling) return false
      isCancelling = true
      // If it fails, the turn has ended.
      rpc.call('runs.cancel', { id: runId }).catch(() => undefined)
      return true
    },
    [Symbol.dispose]: rpc[Symbol.dispose],
  }
}

const describe = ({ reply = '' }: ChatReply): string => escapeForTerminal(reply)

const problemOf = ({ status, error }: ChatReply): string | undefined => {
  if (status === 'succeeded') return undefined
  return error ? `The turn ended as ${status}: ${error.message}` : `The turn ended as ${status}.`
}

async function askOnce(text: string, conversation: Conversation, { json }: ChatOptions): Promise<void> {
  const onInterrupt = (): void => {
    if (!conversation.cancel()) process.exit(exitCodes.interrupted)
  }
  process.on('SIGINT', onInterrupt)
  try {
    const reply = await conversation.say(text)
    const problem = problemOf(reply)
    if (reply.status === 'cancelled') process.exitCode = exitCodes.interrupted
    else if (problem !== undefined && json) process.exitCode = 1
    else if (problem !== undefined) throw new CommandError(escapeForTerminal(problem))
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}

/** Ctrl-C cancels the turn. Outside of a turn, or twice, it ends the command. */
async function talk(conversation: Conversation, { json }: ChatOptions): Promise<void> {
  process.stderr.write('Ctrl-C cancels a turn, and ends the chat between turns.\n')
  const input = createInterface({ input: process.stdin, output: process.stderr })
  input.on('SIGINT', () => {
    if (!conversation.cancel()) process.exit(exitCodes.interrupted)
  })
  for await (const text of readMessages(input)) {
    const problem = problemOf(await conversation.say(text))
    if (problem !== undefined && !json) process.stderr.write(`${escapeForTerminal(problem)}\n`)
  }
}

/** The lines that are not blank, until Ctrl-D. */
async function* readMessages(input: Interface): AsyncGenerator<string> {
  input.setPrompt('> ')
  input.prompt()
  for await (const line of input) {
    if (line.trim() !== '') yield line
    input.prompt()
  }
}
