// The settings of openclaw that this gateway has too, and why others are left behind.
import { agentIdOf } from './agents.ts'
import { isRecord, type Rule } from './carry-over.ts'

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
const oneOf = (names: Record<string, string>) => (value: unknown) =>
  typeof value === 'string' && Object.hasOwn(names, value) ? names[value] : undefined
const same = (...names: string[]) => oneOf(Object.fromEntries(names.map((name) => [name, name])))

/** Secrets are texts, or references of which those to the environment exist here. */
function secret(value: unknown): string | undefined {
  if (!isRecord(value)) return text(value)
  const { source, id } = value
  return source === 'env' && typeof id === 'string' && /^[A-Za-z_]\w*$/.test(id) ? `\${${id}}` : undefined
}

const filledList = (value: unknown) => (Array.isArray(value) && value.length > 0 ? value : undefined)
const senders = (value: unknown) => (Array.isArray(value) ? value.map(String) : undefined)

/** An object by model becomes a list. Parameters of models do not exist here. */
function models(value: unknown): unknown {
  if (!isRecord(value)) return undefined
  const entries = Object.entries(value)
  const isKnown = (entry: unknown) => isRecord(entry) && Object.keys(entry).every((key) => key === 'alias')
  return entries.every(([, entry]) => isKnown(entry))
    ? entries.map(([id, entry]) => Object.assign({ id }, entry))
    : undefined
}

const each = (from: string, to: string, keys: string): Rule[] =>
  keys.split(' ').map((key) => [`${from}.${key}`, `${to}.${key}`])

const toolPolicy = (from: string, to: string): Rule[] => [
  ...each(from, to, 'profile allow alsoAllow deny'),
  ...each(`${from}.byProvider.<provider>`, `${to}.byProvider.<provider>`, 'profile allow alsoAllow deny'),
]

function agent(from: string, to: string, knowsModel: (model: unknown) => unknown): Rule[] {
  return [
    [`${from}.model`, `${to}.model`, knowsModel],
    [`${from}.model.primary`, `${to}.model`, knowsModel],
    [`${from}.thinkingDefault`, `${to}.thinking`, same('off', 'minimal', 'low', 'medium', 'high', 'xhigh')],
    [`${from}.heartbeat.model`, `${to}.heartbeat.model`, knowsModel],
    [`${from}.timeoutSeconds`, `${to}.timeoutSeconds`],
    ...each(`${from}.heartbeat`, `${to}.heartbeat`, 'every target to prompt ackMaxChars'),
    ...each(`${from}.heartbeat.activeHours`, `${to}.heartbeat.activeHours`, 'start end timezone'),
  ]
}

const mapping = 'hooks.mappings.<index>'
const mappingKeys =
  'id match.path match.source action wakeMode name sessionKey messageTemplate textTemplate forEach deliver ' +
  'channel to thinking timeoutSeconds'

const channelSecrets = 'botToken token appToken appPassword'
const channelKeys = 'enabled defaultTo account httpUrl cliPath appId tenantId baseUrl apiRoot'

const channel = (from: string, to: string): Rule[] => [
  ...channelSecrets.split(' ').map((key): Rule => [`${from}.${key}`, `${to}.${key}`, secret]),
  ...each(from, to, channelKeys),
  [`${from}.dmPolicy`, `${to}.dmPolicy`, same('pairing', 'allowlist', 'open')],
  [`${from}.allowFrom`, `${to}.allowFrom`, senders],
  [`${from}.groups.<group>.requireMention`, `${to}.groups.<group>.requireMention`],
]

/** `knowsModel` returns a model whose provider will exist, and otherwise `undefined`. */
export const openclawRules = (knowsModel: (model: unknown) => unknown): Rule[] => [
  ['gateway.port', 'gateway.port'],
  ['gateway.bind', 'gateway.bind', oneOf({ loopback: '127.0.0.1', lan: '0.0.0.0' })],
  ['gateway.auth.mode', 'gateway.auth.mode', same('token', 'password')],
  ['gateway.auth.token', 'gateway.auth.token', secret],
  ['gateway.auth.password', 'gateway.auth.password', secret],
  ...each('gateway.auth.rateLimit', 'gateway.auth.rateLimit', 'maxAttempts windowMs lockoutMs exemptLoopback'),
  ['gateway.trustedProxies', 'gateway.trustedProxies'],
  ['gateway.publicOrigin', 'gateway.publicUrl'],
  ['gateway.controlUi.allowedOrigins', 'gateway.allowedOrigins'],
  ...each('gateway.tools', 'gateway.tools', 'allow deny'),
  ...each('hooks', 'hooks', 'enabled token path defaultSessionKey allowRequestSessionKey'),
  ['hooks.allowedSessionKeyPrefixes', 'hooks.allowedSessionKeyPrefixes', filledList],
  [
    'hooks.allowedAgentIds',
    'hooks.allowedAgentIds',
    (value) => (Array.isArray(value) ? value.map((id) => (id === '*' ? id : (agentIdOf(id) ?? id))) : value),
  ],
  ['hooks.presets', 'hooks.presets', (value) => (JSON.stringify(value) === '["gmail"]' ? value : undefined)],
  ['hooks.gmail.model', 'hooks.gmail.model', knowsModel],
  ['hooks.gmail.thinking', 'hooks.gmail.thinking'],
  ...each(mapping, mapping, mappingKeys),
  [`${mapping}.agentId`, `${mapping}.agentId`, agentIdOf],
  [`${mapping}.model`, `${mapping}.model`, knowsModel],
  ...agent('agents.defaults', 'agents.defaults', knowsModel),
  ['agents.defaults.maxConcurrent', 'agents.defaults.maxConcurrent'],
  ['agents.defaults.models', 'agents.defaults.models', models],
  ...agent('agents.entries.<id>', 'agents.<id>', knowsModel),
  ...each('agents.entries.<id>', 'agents.<id>', 'default name'),
  ...toolPolicy('tools', 'tools'),
  ...toolPolicy('agents.entries.<id>.tools', 'agents.<id>.tools'),
  ['session.mainKey', 'session.mainKey'],
  ['session.scope', 'session.scope', oneOf({ global: 'global', 'per-sender': 'per-agent' })],
  [
    'models.providers.<id>.api',
    'providers.<id>.kind',
    oneOf({
      'openai-completions': 'openai-compatible',
      'openai-responses': 'openai',
      'anthropic-messages': 'anthropic',
      'google-generative-ai': 'google',
    }),
  ],
  ['models.providers.<id>.baseUrl', 'providers.<id>.baseUrl'],
  ['models.providers.<id>.apiKey', 'providers.<id>.apiKey', secret],
  ['models.providers.<id>.headers.<name>', 'providers.<id>.headers.<name>', secret],
  ...channel('channels.<name>', 'channels.<name>'),
  ...channel('channels.<name>.accounts.<account>', 'channels.<name>.accounts.<account>'),
  ['logging.level', 'log.level', same('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')],
]

const reasons: readonly (readonly [RegExp, string])[] = [
  [/^gateway\.bind/, 'write the address into gateway.bind'],
  [/^gateway\.auth\.mode/, 'the gateway always needs a token or a password'],
  [/^hooks\.allowedSessionKeyPrefixes/, 'an empty list would accept no key at all; without it all keys are accepted'],
  [/^hooks\.presets/, 'only the preset "gmail" has the same meaning'],
  [/^hooks\.gmail/, 'the gateway does not run the watcher; see docs/presets.md#gmail'],
  [/^hooks\.transformsDir/, 'transforms are in the folder "transforms" beside the configuration'],
  [
    /^hooks\.mappings\..*\.transform/,
    'it is not a file in a folder of openclaw.json; copy it to the folder "transforms" and adapt it; ' +
      'see docs/from-openclaw.md',
  ],
  [/\.allowUnsafeExternalContent$/, 'it turns a protection off; decide again whether you need it'],
  [/\.sessionMode$/, 'runs with the same session key share one session here'],
  [/\.model(?:\.primary)?$/, 'its provider has no section in "models.providers"; add one to "providers"'],
  [/^agents\.defaults\.models/, 'write a list of { id, alias }; parameters of models do not exist here'],
  [/\.fallbacks$/, 'there are no fallback models; runs are retried'],
  [/\.workspace$/, 'agents have a folder each in state/workspaces; copy the files, or set workspace'],
  [
    /\.(?:groups|groupPolicy|groupAllowFrom)/,
    'in a group, everybody in allowFrom may write; see docs/channels/index.md#groups',
  ],
  [/\.(?:dmPolicy|allowFrom)(?:\.\d+)?$/, 'nobody may write to the agent until you set allowFrom'],
  [/^agents\.list\.\d+/, 'an agent needs an id that no other agent has'],
  [/^bindings\./, 'set agentId of the channel, of an account or of a group'],
  [/^session\.dmScope/, 'set directSession of each channel to "main" or "sender"'],
  [/^env\./, 'set environment variables where you start the gateway'],
  [/^cron\./, 'add schedules with the tool "cron"'],
]

export const reasonFor = (path: string): string =>
  reasons.find(([pattern]) => pattern.test(path))?.[1] ?? 'the gateway has no such setting'
