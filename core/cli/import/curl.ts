// The command `import curl`: makes a mapping, a sample and a test from the example request of a service.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import JSON5 from 'json5'
import { commandLine } from '../../config/file/locate.ts'
import { isSecretName } from '../../kit/secret-names.ts'
import { loadExtensions } from '../../loader/registry.ts'
import { CommandError } from '../../plugin/errors.ts'
import { quoteWord } from '../quote-word.ts'
import { escapeForTerminal } from '../../kit/escape-for-terminal.ts'
import { readText } from '../inspect/read-input.ts'
import { type Proposal, proposeMapping } from './curl-mapping.ts'
import { type CurlRequest, readCurl } from './curl-request.ts'
import { describeTest } from './curl-test.ts'

interface CurlOptions {
  name?: string
  dir: string
  json?: boolean
}

export async function importCurl(file: string, { name: given, dir, json = false }: CurlOptions): Promise<void> {
  const request = readCurl(readText('The curl command', file), process.cwd())
  const name = checkName(given ?? nameIn(request.url) ?? 'webhook')
  const proposal = proposeMapping(request, name)
  const sample = `${name}.payload.json`
  const files = writeFiles(dir, {
    [sample]: `${JSON.stringify(proposal.payload, null, 2)}\n`,
    [`${name}.test.ts`]: describeTest(sample, proposal),
  })
  const result = { files, notes: await listNotes(request, proposal), ...proposal }
  process.stdout.write(json ? describeJson(result) : describeText(name, result))
}

/** The last segment of the address, if it is a word: others may be a secret. */
function nameIn(url: string | undefined): string | undefined {
  const last =
    url
      ?.replace(/[?#].*$/s, '')
      .split('/')
      .slice(3)
      .at(-1) ?? ''
  return /^[a-z]{2,20}(?:-[a-z]{2,20}){0,2}$/.test(last) && !/^(?:web)?hooks?$|^(?:wake|agent)$/.test(last)
    ? last
    : undefined
}

function checkName(name: string): string {
  if (/^[a-z][a-z\d-]{0,63}$/.test(name) && name !== 'wake' && name !== 'agent') return name
  throw new CommandError(`--name: "${name}" cannot be the name of the hook; use lower-case letters, digits and dashes.`)
}

/** @returns the paths. Nothing is overwritten: if one file exists, none is written. */
function writeFiles(dir: string, texts: Readonly<Record<string, string>>): string[] {
  const files = Object.entries(texts).map(([file, text]) => ({ path: join(dir, file), text }))
  const existing = files.find(({ path }) => existsSync(path))
  if (existing) throw new CommandError(`${existing.path} already exists; choose another name with --name.`)
  try {
    mkdirSync(dir, { recursive: true })
    for (const { path, text } of files) writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    throw new CommandError(`A file cannot be written into ${dir} (${(error as NodeJS.ErrnoException).code}).`)
  }
  return files.map(({ path }) => relative(process.cwd(), path) || path)
}

async function listNotes({ headers }: CurlRequest, { mapping, note, replaced }: Proposal): Promise<string[]> {
  const preset = await findPreset(mapping.auth?.scheme)
  const hidden = Object.keys(headers).filter(isSecretName)
  const left = [...hidden, ...replaced.map((field) => `the field ${field}`)].join(', ')
  return [
    note,
    ...(preset === undefined ? [] : [`The preset "${preset}" uses this scheme; if it is for this service, use it.`]),
    ...(left === '' ? [] : [`These credentials of the command were not copied: ${left}.`]),
  ]
}

async function findPreset(scheme: string | undefined): Promise<string | undefined> {
  if (scheme === undefined || scheme === 'hmac' || scheme === 'token') return undefined
  const { presets, close } = await loadExtensions({ plugins: [], dir: process.cwd(), log: silent })
  close()
  return [...presets.values()].find(({ auth }) => auth?.scheme === scheme)?.name
}

interface Result extends Proposal {
  files: readonly string[]
  notes: readonly string[]
}

const describeJson = ({ files, mapping, message, notes }: Result): string =>
  `${JSON.stringify({ files, mapping, message, notes })}\n`

function describeText(name: string, { files, mapping, headers, notes }: Result): string {
  const [sample = '', test = ''] = files
  const event = Object.entries(headers).filter(([header]) => mapping.messageTemplate.includes(`headers.${header}`))
  const options = event.map(([header, value]) => ` --header ${quoteWord(`${header}: ${value}`)}`).join('')
  const lines = [
    ...files.map((file) => `Wrote ${file}`),
    '',
    'Add this to `hooks.mappings` in your gateway.json5:',
    `${JSON5.stringify(mapping, null, 2)},`.replaceAll(/^/gm, '  '),
    '',
    ...notes,
    '',
    `Test it: npx vitest run ${quoteWord(test)}`,
    `Send it: ${commandLine(`trigger ${name} --file ${quoteWord(sample)}${options}`)}`,
  ]
  return `${escapeForTerminal(lines.join('\n'))}\n`
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
