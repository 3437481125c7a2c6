// Talks to an agent. In a terminal it reads messages until Ctrl-D; a pipe is one message.
import { createInterface, type Interface } from 'node:readline/promises'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { describeStep, type RunStep } from 'svc-gateway/kit'
import {
  type CommandContext,
  CommandError,
  type ControlConnection,
  exitCodes,
  isCommandError,
} from 'svc-gateway/plugin'

type Context = CommandContext<'control'>

interface ChatInput {
  message?: string
  session?: string
  json?: boolean
}

interface Delta {
  runId: string
  text: string
}

interface Reply {
  runId: string
  sessionKey: string
  status: string
  reply?: string | undefined
  error?: { message: string } | undefined
}

type Run = Omit<Reply, 'runId'> & { id: string }

/** Sends a message, streams the reply, and resolves with it. */
interface Conversation extends Disposable {
  say(text: string): Promise<Reply>
  /** Cancels the turn. If there is none, or if it is being cancelled, the command ends. */
  interrupt(): void
}

export async function chat({ message, session, json }: ChatInput, context: Context): Promise<void> {
  const text = message === undefined && process.stdin.isTTY ? undefined : (message ?? (await readAll(process.stdin)))
  if (text?.trim() === '') throw new CommandError('The message is empty; give it as an argument or on standard input.')
  using conversation = await startConversation({ session, json }, context)
  if (text === undefined) await talk(conversation, { json, context })
  else await askOnce(text.trim(), conversation, { json, context })
}

async function startConversation(
  { session, json }: Pick<ChatInput, 'session' | 'json'>,
  { control, terminal }: Context,
): Promise<Conversation> {
  let runId: string | undefined
  let isCancelling = false
  let hasStreamed = false
  /** The tool calls of the turn, while they run. Other runs have steps, too. */
  const showStep = (step: RunStep & { runId: string }): void => {
    if (step.kind !== 'tool' || step.runId !== runId) return
    const [what = '', time = '', details = ''] = describeStep(step)
    terminal.notify(`[${[what, time, details].filter(Boolean).join('  ')}]`)
  }
  const onNotification = (method: string, params: unknown): void => {
    if (method === 'step') return showStep(params as RunStep & { runId: string })
    const delta = params as Delta
    runId = delta.runId
    if (json || delta.text === '') return
    hasStreamed = true
    terminal.write(delta.text)
  }
  let connection: ControlConnection | undefined

  /** A reload of the configuration closes the connection. */
  async function connected(): Promise<ControlConnection> {
    if (connection) return connection
    const opened = await control.connect(onNotification)
    void opened.closed.then(() => (connection = undefined))
    if (!json) await opened.call('subscribe', { topics: ['step'] })
    return (connection = opened)
  }

  async function send(text: string): Promise<Reply> {
    const { call } = await connected()
    try {
      return await call<Reply>('chat.send', { sessionKey: session, text })
    } catch (error) {
      if (runId === undefined || !isUnreachable(error)) throw error
      // The message is stored, so that the turn goes on. What is shown of the reply already is shown again.
      if (hasStreamed) terminal.print('')
      hasStreamed = false
      return await waitForEnd(control, runId)
    }
  }

  await connected()
  return {
    async say(text) {
      isCancelling = hasStreamed = false
      try {
        const reply = await send(text)
        if (json) terminal.printJson(reply)
        else terminal.print(hasStreamed ? '' : (reply.reply ?? ''))
        return reply
      } finally {
        runId = undefined
      }
    },
    interrupt() {
      if (runId === undefined || isCancelling) process.exit(exitCodes.interrupted)
      isCancelling = true
      // If it fails, the turn has ended.
      control.post(`/api/runs/${runId}/cancel`, {}).catch(() => undefined)
    },
    [Symbol.dispose]: () => connection?.[Symbol.dispose](),
  }
}

const isUnreachable = (error: unknown): boolean =>
  isCommandError(error) && (error.exitCode === exitCodes.unreachable || error.response?.type === 'shutting_down')

const retryMs = 1_000

/** Waits for the end of a run, also while the gateway restarts, for a minute. */
async function waitForEnd(control: Context['control'], runId: string): Promise<Reply> {
  for (let failures = 0; ;) {
    try {
      const { id, sessionKey, status, reply, error } = await control.get<Run>(`/runs/${runId}`)
      if (!['queued', 'running', 'waiting'].includes(status)) return { runId: id, sessionKey, status, reply, error }
      failures = 0
    } catch (error) {
      failures += 1
      if (failures === 60 || !isUnreachable(error)) throw error
    }
    await delay(retryMs)
  }
}

const problemOf = ({ status, error }: Reply): string | undefined => {
  if (status === 'succeeded') return undefined
  return error ? `The turn ended as ${status}: ${error.message}` : `The turn ended as ${status}.`
}

interface Setting {
  json: boolean | undefined
  context: Context
}

async function askOnce(text: string, conversation: Conversation, { json, context }: Setting): Promise<void> {
  context.signal.addEventListener('abort', () => conversation.interrupt())
  const reply = await conversation.say(text)
  const problem = problemOf(reply)
  if (reply.status === 'cancelled') process.exitCode = exitCodes.interrupted
  else if (problem !== undefined && json) process.exitCode = 1
  else if (problem !== undefined) throw new CommandError(problem)
}

async function talk(conversation: Conversation, { json, context: { terminal } }: Setting): Promise<void> {
  terminal.notify('Ctrl-C cancels a turn, and ends the chat between turns.')
  const input = createInterface({ input: process.stdin, output: process.stderr })
  // In this mode, the terminal sends no signal.
  input.on('SIGINT', () => conversation.interrupt())
  for await (const text of readMessages(input)) {
    const problem = problemOf(await conversation.say(text))
    if (problem !== undefined && !json) terminal.notify(problem)
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
