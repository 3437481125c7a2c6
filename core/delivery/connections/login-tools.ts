// The tools `<channel>_login`, with which an agent links and unlinks the accounts of channels. Only configured channels
// have one.
import { type Extensions, ownSource } from '../../loader/registry.ts'
import { type Channel, defineTool, type Tool, type Toolset, Type } from '../../plugin/plugin.ts'
import type { AuditLog } from '../../store/audit-log.ts'
import type { Connections } from './connections.ts'
import type { Logins } from './login.ts'
import { drawQrCode } from './qr-code.ts'

interface LoginToolsDeps {
  logins: Logins
  audit: Pick<AuditLog, 'done'>
  connections: Pick<Connections, 'states'>
}

export interface LoginTools {
  /** The extensions with the toolset `channels`. */
  extensions: Extensions
  /** Call it when other channels are configured. */
  refresh(): void
}

/** Adds the toolset `channels`, with a tool for each configured channel that has a login. */
export function createLoginTools(extensions: Extensions, { logins, audit, connections }: LoginToolsDeps): LoginTools {
  const tools = new Map(
    loginChannels(extensions).map((channel) => [channel.name, createLoginTool(channel, { logins, audit })]),
  )
  /** One for each open toolset: a reload may open the next one before it closes the last. */
  const offers = new Set<() => void>()
  const listConfigured = (): Tool[] => {
    const configured = new Set(connections.states().map(({ channel }) => channel))
    return [...tools].flatMap(([channel, tool]) => (configured.has(channel) ? tool : []))
  }
  const open: Toolset['open'] = async (_settings, context) => {
    const offer = (): void => context.offer(listConfigured())
    offers.add(offer)
    offer()
    return { tools: [], close: async () => void offers.delete(offer) }
  }
  return {
    extensions: addToolset(declareLoginTools(extensions), { open }),
    refresh: () => offers.forEach((offer) => offer()),
  }
}

/** Only the names, for checks of the configuration that start nothing. A policy may name channels that come later. */
export function declareLoginTools(extensions: Extensions): Extensions {
  const group = toolset.name
  const names = loginChannels(extensions).map(({ name }) => ({ name: toolNameOf(name), group }))
  return addToolset(extensions, { expected: () => names })
}

const toolset = { kind: 'toolset', name: 'channels', description: 'Links and unlinks accounts of channels.' } as const

const loginChannels = ({ channels }: Extensions) => [...channels.values()].filter(({ login }) => login)

/** Tool names are snake_case, and names of channels may have dashes. */
const toolNameOf = (channel: string): string => `${channel.replaceAll('-', '_')}_login`

function addToolset(extensions: Extensions, members: Pick<Toolset, 'open' | 'expected'>): Extensions {
  if (loginChannels(extensions).length === 0) return extensions
  const added: Toolset = { ...toolset, ...extensions.toolsets.get(toolset.name), ...members }
  const toolsets = new Map([...extensions.toolsets, [added.name, added]])
  return { ...extensions, toolsets, sources: new Map([...extensions.sources, [added, ownSource]]) }
}

interface LoginArgs {
  action: 'start' | 'status' | 'logout'
  account?: string
}

const Args = Type.Object(
  {
    action: Type.Enum(['start', 'status', 'logout'], {
      description:
        '`start` returns the code to scan or to type. `status` returns the newest one, or says that it is linked.',
    }),
    account: Type.Optional(Type.String({ description: 'The account, if several are configured.' })),
  },
  { additionalProperties: false },
)

const createLoginTool = ({ name }: Channel<never>, { logins, audit }: Pick<LoginToolsDeps, 'logins' | 'audit'>): Tool =>
  defineTool<LoginArgs>({
    name: toolNameOf(name),
    group: toolset.name,
    description:
      `Links an account of the channel ${name}: shows a code that a person confirms in the app, and says when it is ` +
      'done. Codes expire after a short time; ask for `status` to get the newest one. A `question` is for the person, ' +
      `who answers it with "svc-gateway channels login ${name}" or on the control page; never ask for the answer.`,
    args: Args,
    async execute({ action, account }, { caller, agentId, runId }) {
      const target = { channel: name, account }
      // The call of a client is recorded as such.
      const record = async (): Promise<void> => {
        const source = { actor: { kind: 'agent' as const, name: agentId, runId }, via: 'tool' as const }
        const entry = { action: `channel.${action === 'logout' ? 'logout' : 'login'}`, agentId }
        if (caller === 'agent') await audit.done(source, { ...entry, target: account ? `${name}/${account}` : name })
      }
      if (action === 'logout') {
        await logins.logout(target)
        await record()
        return { status: 'not_linked' }
      }
      const view = action === 'start' ? await logins.start(target) : logins.status(target)
      if (action === 'start') await record()
      return { ...view, ...(view.qr !== undefined && { picture: await drawQrCode(view.qr) }) }
    },
  })
