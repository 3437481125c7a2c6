// Starts a gateway with the launch pad and a chat, whose runs wait for approvals.
import { startChat } from '../doubles/chat.ts'
import { startModel } from '../doubles/model.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { createLaunchPad, plugins, scriptCall, widenChat } from './launch-pad.ts'

/** Who is asked, where, and who may answer. */
export const approvals = { channel: 'chat-native', to: 'boss', approvers: ['ann'] }

export async function startApprovals(changes: Document = {}, channel: Document = {}) {
  const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
  const pad = createLaunchPad(dir)
  const settings = { allowFrom: ['bob'], groups: { '*': { requireMention: false } }, ...channel }
  const config = chat.config(dir, { 'chat-native': settings })
  widenChat(dir)
  const document = { ...config, ...pad.document(), approvals, providers: model.providers, ...changes }
  const gateway = await startGateway({ ...document, plugins: [...config.plugins, plugins] }, dir)
  const { get } = gateway
  const asAdmin = { authorization: `Bearer ${gatewayToken}` }
  const post = (path: string, body: object, headers: Record<string, string> = path.startsWith('/api') ? asAdmin : {}) =>
    gateway.post(path, body, headers)

  /** Starts a run in a session of its own, and resolves when it waits for an answer. */
  async function ask(args: object, { tool = 'launch', session = `hook:${crypto.randomUUID()}` } = {}) {
    const before = chat.held.length
    scriptCall(model, args, tool)
    const runId = await send(session)
    await until(runId, 'waiting')
    const [approval] = (await get(`/api/approvals?runId=${runId}`)).body.items
    const question = (await chat.holds(before + 1))[before]!.text
    return { runId, approval, question }
  }

  async function send(sessionKey: string, headers?: Record<string, string>): Promise<string> {
    const body = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat', sessionKey }
    return (await post('/hooks/agent', body, headers)).body.runId as string
  }

  /** Waits until the run has this status. */
  async function until(runId: string, status: string) {
    for (;;) {
      const { body } = await get(`/runs/${runId}`)
      if (body.status === status) return body
      if (body.endedAt) throw new Error(`The run is ${body.status}: ${body.error?.message}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  const steps = async (runId: string) => (await get(`/runs/${runId}/steps`)).body.items
  /** Sends an answer and resolves with the reply. */
  async function say(text: string, from = { id: 'ann' }, more: object = {}): Promise<string> {
    const to = `${from.id}-${crypto.randomUUID()}`
    const result = await chat.say({ text, from, to, ...more })
    return result === 'accepted' ? (await chat.holds(1, to))[0]!.text : result
  }
  /** Makes a change that lets the run go on, and resolves with its result when the run has ended. */
  async function conclude<Result>(runId: string, change: () => Promise<Result>): Promise<Result> {
    model.script({ text: 'Done.' })
    const result = await change()
    await until(runId, 'succeeded')
    return result
  }
  return { ...gateway, post, conclude, model, chat, pad, ask, send, until, steps, say }
}
