// The tools `<channel>_login`, with which an agent links and unlinks the accounts of channels.
import { type Extensions, ownSource } from '../../loader/registry.ts'
import { type Channel, defineTool, type Tool, type Toolset, Type } from '../../plugin.ts'
import type { Logins } from './login.ts'
import { drawQrCode } from './qr-code.ts'

type Named = Pick<Tool, 'name' | 'group'>

/** Adds the toolset `channels`, with a tool for each channel that has a login. */
export function addLoginTools(extensions: Extensions, logins: Logins): Extensions {
  const tools = loginChannels(extensions).map((channel) => createLoginTool(channel, logins))
  return addToolset(extensions, { ...toolset, tools })
}

/** The same names, for checks of the configuration that start nothing. */
export function declareLoginTools(extensions: Extensions): Extensions {
  const names: Named[] = loginChannels(extensions).map(({ name }) => ({ name: toolNameOf(name), group: toolset.name }))
  return addToolset(extensions, { ...toolset, expected: () => names })
}

const toolset = { kind: 'toolset', name: 'channels', description: 'Links and unlinks accounts of channels.' } as const

const loginChannels = ({ channels }: Extensions) => [...channels.values()].filter(({ login }) => login)

/** Tool names are snake_case, and names of channels may have dashes. */
const toolNameOf = (channel: string): string => `${channel.replaceAll('-', '_')}_login`

function addToolset(extensions: Extensions, added: Toolset): Extensions {
  if (loginChannels(extensions).length === 0) return extensions
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

const createLoginTool = ({ name }: Channel<never>, logins: Logins): Tool =>
  defineTool<LoginArgs>({
    name: toolNameOf(name),
    group: toolset.name,
    description:
      `Links an account of the channel ${name}: shows a code that a person confirms in the app, and says when it is ` +
      'done. Codes expire after a short time; ask for `status` to get the newest one.',
    args: Args,
    async execute({ action, account }) {
      const target = { channel: name, account }
      if (action === 'logout') {
        await logins.logout(target)
        return { status: 'not_linked' }
      }
      const view = action === 'start' ? await logins.start(target) : logins.status(target)
      return { ...view, ...(view.qr !== undefined && { picture: await drawQrCode(view.qr) }) }
    },
  })
