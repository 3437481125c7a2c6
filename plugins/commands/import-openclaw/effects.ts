// Lists what an imported configuration runs, sends and opens, so that a person can decide before it is written.

export interface Effect {
  kind: 'runs' | 'sends' | 'opens'
  /** Dotted path of the key in the new file. */
  path: string
  /** What happens; never a secret. */
  what: string
}

interface Place {
  /** Dotted path. */
  path: string
  value: unknown
}

export function listEffects(config: Record<string, unknown>): Effect[] {
  return placesIn(config).flatMap((place) => finders.flatMap((find) => find(place) ?? []))
}

type Find = (place: Place) => Effect | undefined

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const whenKey =
  (pattern: RegExp, kind: Effect['kind'], describe: (place: Place) => string | undefined): Find =>
  (place) => {
    const what = pattern.test(place.path) ? describe(place) : undefined
    return what === undefined ? undefined : { kind, path: place.path, what }
  }

/** Of an address, only the part that names the host: the rest may hold a password. */
function hostOf(value: unknown): string {
  const text = textOf(value)
  return URL.canParse(text) ? new URL(text).origin : text.replace(/\/\/[^/]*@/, '//')
}

const isEverybody = (value: unknown): boolean => typeof value === 'string' && value.trim() === '*'

const finders: readonly Find[] = [
  whenKey(/^channels\..*\.cliPath$/, 'runs', ({ value }) => `the program ${textOf(value)}`),
  whenKey(
    /^hooks\.mappings\.\d+\.transform\.module$/,
    'runs',
    ({ value }) => `transforms/${textOf(value)}, in a sandbox`,
  ),
  whenKey(/^(?:tools|agents\.[^.]+\.tools)\.(?:.*\.)?(?:allow|alsoAllow)\.\d+$/, 'runs', ({ value }) =>
    /^(?:\*|exec|group:.*)$/.test(textOf(value)) ? `the tools "${textOf(value)}" for agents` : undefined,
  ),
  whenKey(/^providers\.[^.]+\.baseUrl$/, 'sends', ({ value }) => `prompts and the key to ${hostOf(value)}`),
  whenKey(
    /^channels\..*\.(?:apiRoot|baseUrl|httpUrl)$/,
    'sends',
    ({ value }) => `messages and credentials to ${hostOf(value)}`,
  ),
  whenKey(
    /^(?:hooks\.mappings\.\d+|agents\..*\.heartbeat)\.to$|\.defaultTo$/,
    'sends',
    ({ value }) => `replies to ${textOf(value)}`,
  ),
  ({ path, value }) => {
    const names = typeof value === 'string' ? [...value.matchAll(/\$\{([A-Za-z_]\w*)/g)].map(([, name]) => name) : []
    if (names.length === 0) return undefined
    return {
      kind: 'sends',
      path,
      what: `the environment ${names.length === 1 ? 'variable' : 'variables'} ${names.join(', ')}`,
    }
  },
  whenKey(/\.file$/, 'sends', ({ value }) => `the content of the file ${textOf(value)}`),
  whenKey(/\.dmPolicy$/, 'opens', ({ value }) => (value === 'open' ? 'everybody may write to the agent' : undefined)),
  whenKey(/\.allowFrom\.\d+$/, 'opens', ({ value }) =>
    isEverybody(value) ? 'everybody may write to the agent' : undefined,
  ),
  whenKey(/^channels\..*\.groups\.\s*\*\s*\.requireMention$/, 'opens', () => 'the agent answers in every group'),
  whenKey(/^gateway\.bind$/, 'opens', ({ value }) =>
    value === '127.0.0.1' ? undefined : `other machines can connect (${textOf(value)})`,
  ),
  whenKey(
    /^gateway\.trustedProxies\.\d+$/,
    'opens',
    ({ value }) => `${textOf(value)} may name any address as the client's`,
  ),
  whenKey(/^gateway\.allowedOrigins\.\d+$/, 'opens', ({ value }) => `pages of ${textOf(value)} may use the gateway`),
  whenKey(/^gateway\.tools\.allow\.\d+$/, 'opens', ({ value }) => `callers of /tools may use "${textOf(value)}"`),
  whenKey(/^hooks\.allowRequestSessionKey$/, 'opens', ({ value }) =>
    value === true ? 'webhooks may choose the session' : undefined,
  ),
]

/** All values that are neither objects nor lists. */
function placesIn(value: unknown, keys: readonly string[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return [{ path: keys.join('.'), value }]
  return Object.entries(value).flatMap(([key, child]) => placesIn(child, [...keys, key]))
}
