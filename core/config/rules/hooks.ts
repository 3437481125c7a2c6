// Checks the webhook endpoints: token, path, session keys, agents and alerts.
import { agentIdsOf } from '../schema/agents.ts'
import { allCredentials } from '../credentials.ts'
import { hooksPathSentence } from '../schema/hooks.ts'
import { normalizeHooksPath, reservedPaths } from '../hooks-path.ts'
import { alertRecipientRules } from './budgets.ts'
import { type RuleContext, type RuleFinding, shortToken } from './rule.ts'

export function* hookRules(context: RuleContext): Iterable<RuleFinding> {
  yield* tokenRules(context)
  yield* pathRules(context)
  yield* routingWarnings(context)
  yield* sharedSessionWarnings(context)
  yield* alertRecipientRules(context.config.hooks.onFailure, ['hooks', 'onFailure'], context)
}

function* tokenRules({ config, env }: RuleContext): Iterable<RuleFinding> {
  const keys = ['hooks', 'token']
  const token = config.hooks.token?.trim() ?? ''
  if (!token) {
    if (config.hooks.enabled)
      yield {
        keys,
        code: 'token_missing',
        problem: 'is required when hooks are enabled; set a long random token that nothing else uses',
      }
    return
  }
  if (allCredentials(config.gateway.auth, env).includes(token)) {
    yield {
      keys,
      code: 'token_reused',
      problem: 'must differ from the token and password of the gateway; set another token',
    }
  }
  if (token.length < 24) yield shortToken(keys)
}

function* pathRules({ config }: RuleContext): Iterable<RuleFinding> {
  const keys = ['hooks', 'path']
  const path = normalizeHooksPath(config.hooks.path)
  if (path === '/') yield { keys, problem: 'must not be the root; use a path such as "/hooks"' }
  else if (/\/\.{1,2}(?:\/|$)/.test(path)) yield { keys, problem: hooksPathSentence }
  const reserved = reservedPaths.find((one) => path === one || path.startsWith(`${one}/`))
  if (reserved)
    yield {
      keys,
      problem: `must not be at ${reserved}, which the gateway uses for other routes; use another path such as "/hooks"`,
    }
}

function* routingWarnings({ config: { hooks, agents } }: RuleContext): Iterable<RuleFinding> {
  if (hooks.allowRequestSessionKey && hooks.allowedSessionKeyPrefixes === undefined) {
    const problem =
      'lets a webhook continue any session; set hooks.allowedSessionKeyPrefixes, such as ["hook:"], to limit this'
    yield { keys: ['hooks', 'allowRequestSessionKey'], problem, warning: true }
  }
  const ids = new Set(['*', ...agentIdsOf(agents)])
  yield* (hooks.allowedAgentIds ?? []).flatMap((id, index) => {
    const problem = 'is not a configured agent; webhooks that request it use the default agent'
    return ids.has(id.trim().toLowerCase())
      ? []
      : [{ keys: ['hooks', 'allowedAgentIds', String(index)], problem, warning: true }]
  })
}

/**
 * Sessions that several hooks can reach. A turn there may send nothing out that another sender's run has read, but each
 * sender's text stays visible to the runs of the others.
 */
function* sharedSessionWarnings({ config: { hooks } }: RuleContext): Iterable<RuleFinding> {
  const keyed = hooks.mappings.flatMap(({ sessionKey, agentId = '', action }, index) =>
    action === 'wake' || sessionKey === undefined
      ? []
      : [
          {
            index,
            agentId: agentId.trim().toLowerCase(),
            begin: literalBegin(sessionKey),
            whole: isLiteral(sessionKey),
          },
        ],
  )
  for (const [position, one] of keyed.entries()) {
    const other = keyed.slice(0, position).find((earlier) => earlier.agentId === one.agentId && meets(earlier, one))
    if (!other) continue
    const problem =
      `can name a session that hooks.mappings[${other.index}] can also name, so the runs of each see the texts of the ` +
      'other\'s sender; begin the keys differently, such as "hook:<id of the mapping>:"'
    yield { keys: ['hooks', 'mappings', String(one.index), 'sessionKey'], problem, warning: true }
  }
  const { length } = hooks.mappings.filter(({ sessionKey, action }) => sessionKey === undefined && action !== 'wake')
  if (hooks.defaultSessionKey !== undefined && length + hooks.presets.length > 0) {
    const problem =
      'is the session of all hooks without a sessionKey, so the runs of each see the texts of the other senders; give ' +
      'mappings and presets keys of their own'
    yield { keys: ['hooks', 'defaultSessionKey'], problem, warning: true }
  }
}

interface KeyedMapping {
  begin: string
  /** Whether the key is the same for each request. */
  whole: boolean
}

const isLiteral = (key: string): boolean => !key.includes('{{')
const literalBegin = (key: string): string => (key.split('{{', 1)[0] as string).trim().toLowerCase()

const meets = (one: KeyedMapping, other: KeyedMapping): boolean =>
  one.whole && other.whole
    ? one.begin === other.begin
    : (!one.whole && other.begin.startsWith(one.begin)) || (!other.whole && one.begin.startsWith(other.begin))
