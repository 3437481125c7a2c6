// The rules of the webhook endpoints: a token of their own, a path that hides nothing, session keys and agents that
// make sense.
import { agentIdsOf } from '../agent-ids.ts'
import { allCredentials } from '../credentials.ts'
import { normalizeHooksPath, reservedPaths } from '../hooks-path.ts'
import { recipientRules } from './recipients.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* hookRules(context: RuleContext): Iterable<RuleFinding> {
  yield* tokenRules(context)
  yield* pathRules(context)
  yield* routingWarnings(context)
  yield* onFailureRules(context)
}

function* tokenRules({ config, env }: RuleContext): Iterable<RuleFinding> {
  const keys = ['hooks', 'token']
  const token = config.hooks.token?.trim() ?? ''
  if (!token) {
    if (config.hooks.enabled)
      yield { keys, problem: 'is required when hooks are enabled; set a long random token that nothing else uses' }
    return
  }
  if (allCredentials(config.gateway.auth, env).includes(token)) {
    yield { keys, problem: 'must not be the token or password of the gateway; give the hooks a token of their own' }
  }
  if (token.length < 24)
    yield { keys, problem: 'has fewer than 24 characters and may be guessed; a longer one is safer', warning: true }
}

function* pathRules({ config }: RuleContext): Iterable<RuleFinding> {
  const keys = ['hooks', 'path']
  const path = normalizeHooksPath(config.hooks.path)
  if (path === '/') yield { keys, problem: 'must not be the root; name a path such as "/hooks"' }
  else if (!/^(?:\/[\w.~-]+)+$/.test(path) || /\/\.{1,2}(?:\/|$)/.test(path)) {
    yield {
      keys,
      problem: 'must be a plain path such as "/hooks": letters, digits, "-", "_", "." and "~" between single slashes',
    }
  }
  const shadowed = reservedPaths.find((reserved) => path === reserved || path.startsWith(`${reserved}/`))
  if (shadowed)
    yield {
      keys,
      problem: `must not lie at ${shadowed}, where the gateway serves something else; take another path such as "/hooks"`,
    }
}

function* routingWarnings({ config: { hooks, agents } }: RuleContext): Iterable<RuleFinding> {
  if (hooks.allowRequestSessionKey && hooks.allowedSessionKeyPrefixes === undefined) {
    const problem =
      'lets a webhook continue any session; hooks.allowedSessionKeyPrefixes, such as ["hook:"], would bound that'
    yield { keys: ['hooks', 'allowRequestSessionKey'], problem, warning: true }
  }
  const ids = new Set(['*', ...agentIdsOf(agents)])
  yield* (hooks.allowedAgentIds ?? []).flatMap((id, index) => {
    const problem = `names no configured agent; webhooks that ask for it reach the default agent`
    return ids.has(id.trim().toLowerCase())
      ? []
      : [{ keys: ['hooks', 'allowedAgentIds', String(index)], problem, warning: true }]
  })
}

function* onFailureRules(context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  const { channel, to } = config.hooks.onFailure ?? {}
  yield* recipientRules({ channel, to, keys: ['hooks', 'onFailure', 'to'] }, context)
  if (channel === undefined || channel === 'last') return
  const keys = ['hooks', 'onFailure', 'channel']
  const names = [...extensions.channels.keys()]
  if (!names.includes(channel))
    yield { keys, problem: `must be "last" or the name of a loaded channel (${names.join(', ') || 'none is loaded'})` }
  else if (!config.channels[channel]?.enabled)
    yield { keys, problem: `names a channel that is not configured; add channels.${channel}`, warning: true }
}
