// Starts a gateway whose tools a test calls, over HTTP or through an agent with the rules model.
import { type Chat, startChat } from '../doubles/chat.ts'
import {
  type Answer,
  type Document,
  gatewayToken,
  hookToken,
  type RunningGateway,
  startGateway,
  temporaryFolder,
} from '../helpers.ts'

type Sent = Chat['held'][number]

/** The id of the run whose reply a message is. */
const runOf = ({ key }: Sent): string => key.split(':')[0]!

export interface ToolGateway extends RunningGateway {
  chat: Chat
  /** POST /tools/invoke. */
  call(tool: string, args?: Document, sessionKey?: string): Promise<Answer>
  /** The result of a call that must succeed. */
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the tool answers; the test says what it must be
  result(tool: string, args?: Document, sessionKey?: string): Promise<any>
  /** Sends this message on a channel, in a group if one is named, and resolves with the reply. */
  askAgent(text: string, group?: string): Promise<string>
  /** Resolves with the sent message that contains this text. */
  sent(text: string): Promise<Sent>
  /** Sends this message to a webhook, and resolves with the reply. */
  hook(message: string, fields?: Document): Promise<Answer>
}

const agents = { defaults: { heartbeat: { every: 0 } } }

/** `groups`: the groups of the channel on which the message arrives. */
export async function startTools(
  { groups = { '*': {} }, ...changes }: Document = {},
  dir = temporaryFolder(),
): Promise<ToolGateway> {
  const chat = await startChat()
  const plugged = chat.config(dir, { 'chat-native': { allowFrom: ['ann'], groups } })
  const gateway = await startGateway(
    { agents, hooks: { enabled: true, token: hookToken, replyToSender: true }, ...plugged, ...changes },
    dir,
  )
  const call: ToolGateway['call'] = (tool, args = {}, sessionKey) =>
    gateway.post(
      '/tools/invoke',
      { tool, args, ...(sessionKey !== undefined && { sessionKey }) },
      { authorization: `Bearer ${gatewayToken}` },
    )
  /** Resolves with the first sent message that fits. */
  const find = async (fits: (message: Sent) => boolean): Promise<Sent> => {
    for (let count = 1; ; count = chat.held.length + 1) {
      const found = (await chat.holds(count)).find(fits)
      if (found) return found
    }
  }
  return {
    ...gateway,
    chat,
    call,
    result: async (...args) => {
      const { status, body } = await call(...args)
      if (status !== 200) throw new Error(`${args[0]} answered ${status}: ${JSON.stringify(body)}`)
      return body.result
    },
    askAgent: async (text, group) => {
      const before = new Set(chat.held.map(runOf))
      await chat.say({ text, ...(group !== undefined && { to: group, group: 'group', mentioned: true }) })
      const reply = await find((message) => message.to === (group ?? 'ann') && !before.has(runOf(message)))
      return (await gateway.get(`/runs/${runOf(reply)}`)).body.reply
    },
    sent: (text) => find((message) => message.text.includes(text)),
    hook: (message, fields = {}) =>
      gateway.post(
        '/hooks/agent',
        { message, deliver: false, wakeMode: 'next-heartbeat', ...fields },
        { prefer: 'wait=20' },
      ),
  }
}

/** The error response for input that a tool refuses. */
export const refused = (message: unknown) => ({
  status: 400,
  body: { ok: false, error: { type: 'invalid_arguments', message } },
})
