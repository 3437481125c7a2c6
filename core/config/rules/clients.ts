// Checks the clients of the gateway: names, tokens that are unique, agents that exist, and times.
import { allCredentials, clientHash, hashToken } from '../credentials.ts'
import { suggest } from '../nearest.ts'
import { agentIdsOf } from '../schema/agents.ts'
import { timeSentence } from '../schema/formats.ts'
import type { ClientConfig } from '../schema/schema.ts'
import { type RuleContext, type RuleFinding, shortToken } from './rule.ts'

export function* clientRules(context: RuleContext): Iterable<RuleFinding> {
  const { config } = context
  const { clients } = config.gateway.auth
  const names = new Map<string, number>([['gateway', -1]])
  for (const [index, client] of clients.entries()) {
    // Values that do not match the schema leave holes in the list.
    if (!client) continue
    const keys = ['gateway', 'auth', 'clients', String(index)]
    const first = names.get(client.name)
    if (first !== undefined) yield { keys: [...keys, 'name'], problem: explainName(first) }
    else names.set(client.name, index)
    yield* tokenRules(client, keys)
    if (client.notAfter !== undefined && Number.isNaN(Date.parse(client.notAfter)))
      yield { keys: [...keys, 'notAfter'], problem: timeSentence }
    yield* agentRules(client, keys, agentIdsOf(config.agents))
  }
  yield* reuseRules(context)
}

const explainName = (first: number): string =>
  first === -1
    ? 'must not be "gateway", which is the name of the credential of the gateway itself; use another name'
    : `is also the name of gateway.auth.clients[${first}]; use another name`

function* tokenRules({ token, tokenHash }: ClientConfig, keys: readonly string[]): Iterable<RuleFinding> {
  if (token === undefined && tokenHash === undefined)
    yield {
      keys,
      code: 'token_missing',
      problem: 'has no token; set "token" or "tokenHash", or add the client with "svc-gateway clients add"',
    }
  if (token !== undefined && tokenHash !== undefined)
    yield { keys: [...keys, 'tokenHash'], problem: 'cannot be combined with "token"; remove one of them' }
  if (token !== undefined && token.trim().length < 24) yield shortToken([...keys, 'token'])
}

function* agentRules(
  { agents = [] }: ClientConfig,
  keys: readonly string[],
  known: readonly string[],
): Iterable<RuleFinding> {
  for (const [index, id] of agents.entries()) {
    if (known.includes(id)) continue
    const fix = suggest(id, known, `use one of ${known.join(', ')}`)
    const problem = `names ${JSON.stringify(id)}, which is no agent; ${fix}`
    yield { keys: [...keys, 'agents', String(index)], problem }
  }
}

/** Two equal tokens would make it a matter of chance which role their caller has. */
function* reuseRules({ config: { gateway, hooks }, env }: RuleContext): Iterable<RuleFinding> {
  const owners = new Map<string, string>()
  for (const value of allCredentials(gateway.auth, env)) owners.set(hashToken(value), 'the gateway')
  if (hooks.token?.trim()) owners.set(hashToken(hooks.token), 'the hooks')
  for (const [index, client] of gateway.auth.clients.entries()) {
    const digest = client && clientHash(client)
    if (digest === undefined) continue
    const owner = owners.get(digest)
    if (owner !== undefined)
      yield {
        keys: ['gateway', 'auth', 'clients', String(index), client?.token === undefined ? 'tokenHash' : 'token'],
        code: 'token_reused',
        problem: `must differ from the token of ${owner}; give the client a token of its own`,
      }
    else owners.set(digest, `the client "${client?.name}"`)
  }
}
