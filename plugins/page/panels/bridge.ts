// Answers the messages of a panel: calls the API for it, within what the panel declares. The credential stays here.
import { ApiError, type Call, type Item } from '../api/client.ts'
import { messageOf } from '../app/app.ts'
import type { Answer } from './frame.ts'

export type PanelInfo = Item<'GET /api/panels'>

interface BridgeDeps {
  call: Call
  /** The panel as it is now. Undefined: it is gone. */
  panel(): PanelInfo | undefined
  /** Loads the panel anew: the tools of a toolset come and go. */
  refresh(): Promise<void>
  go(fragment: string): void
}

/** Answers a message, whose content is not trusted. Undefined: it needs no answer. */
export type Bridge = (message: unknown) => Promise<Answer | undefined>

type Fields = Readonly<Record<string, unknown>>

/** How many calls of one panel may be under way. */
const maxCalls = 16

export function createBridge({ call, panel, refresh, go }: BridgeDeps): Bridge {
  const anyCall = call as (name: string, options: object) => Promise<unknown>
  let calls = 0

  async function read(route: unknown, { path, query }: Fields): Promise<unknown> {
    if (!panel()?.reads.some((one) => one === route))
      throw new Error(`The panel does not declare that it reads ${describe(route)}; add it to \`reads\`.`)
    const given = { path: textsOf(path, isSegment), query: textsOf(query) }
    return await anyCall(`GET ${String(route)}`, given)
  }

  async function invoke(tool: unknown, { args, sessionKey }: Fields): Promise<unknown> {
    const isOwn = (): boolean => panel()?.tools.some((one) => one === tool) ?? false
    if (!isOwn()) await refresh()
    if (!isOwn()) throw new Error(`The toolset of the panel has no tool ${describe(tool)} now.`)
    const session = typeof sessionKey === 'string' ? { sessionKey } : {}
    const body = { tool: String(tool), args: args as Record<string, unknown>, ...session }
    return (await call('POST /tools/invoke', { body })).result
  }

  async function answer({ id, ...message }: Fields & { id: number }): Promise<Answer> {
    if (calls >= maxCalls)
      return { id, error: describeError(new Error(`At most ${maxCalls} calls of a panel may be under way.`)) }
    calls += 1
    try {
      const result = 'read' in message ? read(message['read'], message) : invoke(message['invoke'], message)
      return { id, result: await result }
    } catch (error) {
      return { id, error: describeError(error) }
    } finally {
      calls -= 1
    }
  }

  return async (message) => {
    if (typeof message !== 'object' || message === null) return undefined
    const fields = message as Fields
    if (typeof fields['go'] === 'string' && fields['go'].startsWith('#/')) go(fields['go'])
    return typeof fields['id'] === 'number' ? await answer({ ...fields, id: fields['id'] }) : undefined
  }
}

/** A segment of dots would lead to another route. */
const isSegment = (text: string): boolean => !/^\.{0,2}$/.test(text)

function textsOf(value: unknown, isValid: (text: string) => boolean = () => true): Record<string, string> {
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : {}).map(
    ([name, one]) => [name, String(one)] as const,
  )
  if (!entries.every(([, text]) => isValid(text))) throw new Error('A value of the path is empty or consists of dots.')
  return Object.fromEntries(entries)
}

const describe = (value: unknown): string => (typeof value === 'string' ? `"${value.slice(0, 80)}"` : 'of such a type')

const describeError = (error: unknown): NonNullable<Answer['error']> =>
  error instanceof ApiError
    ? { status: error.status, type: error.type, message: error.message }
    : { status: 0, type: 'refused', message: messageOf(error) }
