// Extracts the examples from the documentation and completes them, so that tests can run them.
import { createHmac } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import JSON5 from 'json5'
import { merge } from './contracts/merge.ts'
import { baseDocument, type Document, gatewayToken, hookToken } from './helpers.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export interface Example {
  /** `docs/mcp.md:14` */
  location: string
  page: string
  language: string
  text: string
}

export const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((page) => page === 'README.md' || page.startsWith('docs/'))

export const examples: readonly Example[] = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8')
  return Array.from(text.matchAll(/^```(\w*)\n([^]*?)^```/gm), (found) => ({
    location: `${page}:${text.slice(0, found.index).split('\n').length}`,
    page,
    language: found[1] ?? '',
    text: found[2] ?? '',
  }))
})

// ── Configurations ──────────────────────────────────────────────────────────────────────────────

/** What the examples rely on: a channel, agents, models, and the MCP servers of earlier examples, which idle. */
const assumed: Document = {
  ...baseDocument,
  channels: { console: { allowFrom: ['console'], defaultTo: 'console' } },
  agents: { main: {}, reviewer: {} },
  providers: { ollama: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1' } },
  tools: { mcp: { servers: { files: { command: 'cat' }, tickets: { url: 'http://127.0.0.1:1/mcp' } } } },
}

const recipes = examples.find(({ page }) => page === 'docs/recipes.md')!

/**
 * Completes an example to a whole configuration. The example may be a configuration, some of its sections, or only the
 * section of a preset or an `auth`.
 */
export function configurationAround(example: Example): Document {
  const { text, page } = example
  // The first configuration of this page belongs to all others.
  const base = page === 'docs/recipes.md' && example !== recipes ? configurationAround(recipes) : assumed
  const written = JSON5.parse<Document>(/^(?:\/\/.*\n)*\s*\{/.test(text) ? text : `{ ${text} }`)
  if (written['github']) return merge(base, { hooks: { presets: ['github'], ...written } })
  if (written['auth'])
    return merge(base, { hooks: { mappings: [{ match: { path: 'x' }, messageTemplate: 'x', ...written }] } })
  return merge(base, written)
}

/** The value of every environment variable in an example: a secret that all schemes accept. */
export const anySecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSw'
export const variables = new Proxy<NodeJS.ProcessEnv>(
  { HOOK_TOKEN: hookToken, DISCORD_PUBLIC_KEY: 'ab'.repeat(32) },
  { get: (known, name) => known[String(name)] ?? anySecret, has: () => true },
)

/** The TypeScript examples. Each has its file name in a comment in its first line. */
export const sources = examples
  .filter(({ language }) => language === 'ts')
  .map(({ location, text }) => ({ location, name: /^\/\/ ([\w.-]+\.ts): /.exec(text)?.[1] ?? '', text }))

/** Those that are no tests. */
export const files = sources.filter(({ name }) => !name.endsWith('.test.ts'))

// ── Requests ────────────────────────────────────────────────────────────────────────────────────

export interface Curl {
  location: string
  path: string
  init: { method: string; headers: Record<string, string>; body?: string }
}

/** The curl commands of an example. `values` are the variables that it does not set itself. */
export function curlsOf({ location, text }: Example, values: Readonly<Record<string, string>>): Curl[] {
  const set = Object.fromEntries(
    Array.from(text.matchAll(/^(\w+)='([^']*)'$/gm), ([, name = '', value = '']) => [name, value]),
  )
  const signature = createHmac('sha256', anySecret)
    .update(set['BODY'] ?? '')
    .digest('hex')
  const known: Record<string, string> = {
    GATEWAY: '',
    HOOK_TOKEN: hookToken,
    GATEWAY_TOKEN: gatewayToken,
    SIGNATURE: signature,
    ...set,
    ...values,
  }
  const filled = (word: string): string =>
    word.replace(/\$(\w+)/g, (_all, name: string) => known[name] ?? `(${name} is not set)`)
  return Array.from(text.replaceAll('\\\n', ' ').matchAll(/^curl ((?:'[^']*'|[^\n'])*)/gm), ([, call = '']) => {
    const words = Array.from(
      call.matchAll(/'([^']*)'|"((?:\\.|[^"])*)"|(\S+)/g),
      ([, single, double, bare]) => single ?? filled(double ?? bare ?? ''),
    )
    return { location, ...requestOf(words.slice(0, words.indexOf('#') === -1 ? undefined : words.indexOf('#'))) }
  })
}

function requestOf(words: readonly string[]): Omit<Curl, 'location'> {
  const after = (flag: string): string[] => words.flatMap((word, index) => (words[index - 1] === flag ? [word] : []))
  const [body] = after('-d')
  const headers = Object.fromEntries(
    after('-H').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const path = words.find((word) => word.startsWith('/')) ?? ''
  return { path, init: { method: body === undefined ? 'GET' : 'POST', headers, ...(body !== undefined && { body }) } }
}
