// Starts gateways with a model that costs money: each call of `double/m` uses 70 tokens and costs 7 cents.
import { type Chat, startChat } from '../doubles/chat.ts'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'

export const callUsd = 0.07
export const callTokens = 70

/** A run that leaves no event and sends nothing. */
export const quiet = { deliver: false, wakeMode: 'next-heartbeat' }

export const mapping = (id: string, changes: Document = {}): Document => ({
  id,
  match: { path: id },
  messageTemplate: `${id} {{ n }}`,
  ...quiet,
  ...changes,
})

/** A configuration, with these changes. */
export type BudgetDocument = Document & {
  hooks?: Document
  agents?: Document
  channels?: Document
  plugins?: string[]
}

interface PricedOptions {
  dir?: string
  /** Another gateway, whose model and chat it shares. */
  beside?: { model: ModelServer; chat: Chat }
  /** Adds files to the folder of the configuration. */
  prepare?(dir: string): void
}

export async function startPriced(changes: BudgetDocument = {}, { beside, prepare, ...options }: PricedOptions = {}) {
  const { dir = temporaryFolder() } = options
  const { model, chat } = beside ?? { model: await startModel(), chat: await startChat() }
  prepare?.(dir)
  const compose = ({ hooks, agents, channels, plugins: own = [], ...others }: BudgetDocument): Document => {
    const { defaults, ...otherAgents } = (agents ?? {}) as { defaults?: Document }
    const { plugins, channels: chats } = chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } })
    return {
      providers: model.providers,
      plugins: [...plugins, ...own],
      channels: { ...chats, 'chat-native': { ...(chats['chat-native'] as Document), ...channels } },
      hooks,
      agents: {
        defaults: {
          model: 'double/m',
          models: [{ id: 'double/m', price: { input: 1000, output: 1000 } }],
          heartbeat: { every: 0 },
          ...defaults,
        },
        ...otherAgents,
      },
      ...others,
    }
  }
  const gateway = await startGateway(compose(changes), dir)
  return {
    ...gateway,
    model,
    chat,
    reload: (next: BudgetDocument) => reconfigure(gateway, compose(next)),
    /** Sends a webhook and resolves with its reply when its run has ended. */
    hook: (path: string, body: Document = {}) => gateway.post(`/hooks/${path}`, body, { prefer: 'wait=20' }),
    budgets: async (): Promise<Document[]> => (await gateway.get('/api/budgets')).body.items,
  }
}

export type PricedGateway = Awaited<ReturnType<typeof startPriced>>
