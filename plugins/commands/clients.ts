// The command `clients`: adds clients with roles to the configuration, lists them, and removes them.
import { createHash, randomBytes } from 'node:crypto'
import { escapeInLine } from 'svc-gateway/kit'
import {
  CommandError,
  type Configuration,
  type ControlClient,
  defineCommand,
  InputError,
  type Terminal,
} from 'svc-gateway/plugin'

/** One item of `gateway.auth.clients`, as the file has it. */
interface Client {
  name?: string
  role?: string
  agents?: readonly string[]
  content?: boolean
  notAfter?: string
}

const listPath = 'gateway.auth.clients'

/** A list that is not valid is left to the check of the file. */
function readClients(configuration: Configuration): readonly Client[] {
  const { gateway } = configuration.read() as { gateway?: { auth?: { clients?: readonly Client[] } } }
  return gateway?.auth?.clients ?? []
}

const dayMs = 24 * 60 * 60 * 1000

/** Reads days from now, or a time in the future. Returns ISO 8601. */
function parseExpiry(text: string): string {
  const days = /^([1-9]\d{0,3})d$/.exec(text)?.[1]
  const at =
    days === undefined ? Date.parse(/^\d{4}-\d\d-\d\d/.test(text) ? text : '') : Date.now() + Number(days) * dayMs
  if (Number.isNaN(at) || at <= Date.now())
    throw new InputError('It must be days such as 90d, or a time in the future such as 2030-01-31.')
  return new Date(at).toISOString()
}

const add = defineCommand({
  name: 'clients add',
  group: 'Give others a token of their own, with a role.',
  description: 'Add a client to the configuration and print its token, which is shown once.',
  arguments: { name: { description: 'its name, such as dashboard' } },
  options: {
    role: {
      value: '<role>',
      description: 'what it may do',
      choices: ['viewer', 'operator', 'admin'],
      default: 'viewer',
    },
    agent: {
      value: '<id>',
      description: 'an agent that it may reach; repeatable (default: all)',
      repeatable: true,
      completes: 'agent',
    },
    content: { description: 'a viewer may also read bodies, messages and transcripts' },
    notAfter: {
      value: '<time>',
      description: 'how long the token is accepted, such as 90d, or until when, such as 2030-01-31',
      parse: parseExpiry,
    },
  },
  needs: ['configuration'],
  json: 'one JSON object with the name and the token',
  examples: ['clients add dashboard --agent ops', 'clients add anna --role operator --not-after 90d'],
  run: async ({ name, role, agent, content, notAfter, json }, { configuration, terminal }) => {
    if (readClients(configuration).some((client) => client.name === name))
      throw new CommandError(`There is a client with the name "${name}" already; revoke it first, or use another name.`)
    const token = randomBytes(32).toString('base64url')
    await configuration.addToList(listPath, {
      name,
      tokenHash: `sha256:${createHash('sha256').update(token).digest('hex')}`,
      role,
      ...(agent.length > 0 && { agents: agent }),
      ...(content && { content }),
      ...(notAfter !== undefined && { notAfter }),
    })
    if (json) return terminal.printJson({ name, token })
    terminal.notify(
      `Added ${name} (${[role, ...agent.map((id) => `agent ${id}`)].join(', ')}). Its token, which is not shown again:`,
    )
    terminal.print(token)
    terminal.notify(
      'Send it as "Authorization: Bearer <token>". A gateway that runs with this file accepts it in a moment.',
    )
  },
})

const list = defineCommand({
  name: 'clients list',
  description: 'List the clients of the configuration, and when the running gateway last accepted the token of each.',
  needs: ['configuration', 'control'],
  json: 'one JSON object per line, without tokens',
  examples: ['clients list'],
  run: async ({ json }, { configuration, control, terminal }) => {
    const clients = readClients(configuration)
    const lastUse = clients.length > 0 ? await readLastUse(control, terminal) : undefined
    const listed = clients.map(({ name, role, agents, content, notAfter }) => ({
      name,
      role,
      agents,
      content: role === 'admin' || (content ?? role !== 'viewer'),
      notAfter,
      lastUsedAt: lastUse?.get(name),
    }))
    await terminal.printList(listed, {
      noun: 'clients',
      json,
      columns: {
        NAME: ({ name }) => name,
        ROLE: ({ role }) => role,
        AGENTS: ({ agents }) => agents?.join(', ') ?? 'all',
        CONTENT: ({ content }) => (content ? 'yes' : 'no'),
        EXPIRES: ({ notAfter }) => describeExpiry(notAfter),
        'LAST USED': ({ lastUsedAt }) => lastUsedAt ?? (lastUse ? 'never' : 'unknown'),
      },
    })
  },
})

/** Undefined if no gateway answers: the list is useful without it. */
async function readLastUse(
  control: ControlClient,
  terminal: Terminal,
): Promise<ReadonlyMap<string | undefined, string | undefined> | undefined> {
  try {
    const { items } = await control.get<{ items: { name: string; lastUsedAt?: string }[] }>('/api/clients')
    return new Map(items.map(({ name, lastUsedAt }) => [name, lastUsedAt]))
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    terminal.notify(`It is not known when the clients were last used. ${error.message}`)
    return undefined
  }
}

function describeExpiry(notAfter: string | undefined): string {
  if (notAfter === undefined) return 'never'
  return Date.parse(notAfter) < Date.now() ? `expired ${notAfter}` : notAfter
}

const revoke = defineCommand({
  name: 'clients revoke',
  description: 'Remove a client from the configuration; its token is then refused.',
  arguments: { name: { description: 'its name, from "clients list"' } },
  needs: ['configuration'],
  json: 'one JSON object with the name',
  examples: ['clients revoke dashboard'],
  run: async ({ name, json }, { configuration, terminal }) => {
    const index = readClients(configuration).findIndex((client) => client.name === name)
    if (index === -1) throw new CommandError(`There is no client with the name "${escapeInLine(name)}".`)
    await configuration.removeFromList(listPath, index)
    if (json) terminal.printJson({ name })
    else terminal.print(`Revoked ${name}. A gateway that runs with this file refuses its token in a moment.`)
  },
})

export default [add, list, revoke]
