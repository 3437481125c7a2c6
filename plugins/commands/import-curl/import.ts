// Makes a mapping, a sample and a test from the example request of a service.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import JSON5 from 'json5'
import { type CurlProposal, nameOfCurl, proposeMapping, quoteWord, readBytesOf, readCurl } from 'svc-gateway/kit'
import { type CommandContext, CommandError, type Terminal } from 'svc-gateway/plugin'
import { readLocal } from './local-file.ts'

interface CurlInput {
  file?: string
  name?: string
  dir: string
  json?: boolean
}

export async function importCurl(
  { file = '-', name: given, dir, json }: CurlInput,
  { configuration, terminal }: CommandContext<'configuration'>,
): Promise<void> {
  const command = readBytesOf('The curl command', file).toString('utf8')
  const request = readCurl(command, (path) => readLocal(process.cwd(), path))
  const name = checkName(given ?? nameOfCurl(request))
  const proposal = await proposeMapping(request, { name, findScheme: configuration.findScheme })
  const { mapping, message } = proposal
  const sample = `${name}.payload.json`
  const files = writeFiles(dir, {
    [sample]: `${JSON.stringify(proposal.payload, null, 2)}\n`,
    [`${name}.test.ts`]: describeTest(sample, proposal),
  })
  const { scheme = '' } = mapping.auth ?? {}
  const hasPreset = (await configuration.listNames('preset')).includes(scheme)
  const ofPreset = hasPreset ? [`The preset "${scheme}" uses this scheme; if it is for this service, use it.`] : []
  const notes = [...proposal.notes, ...ofPreset]
  if (json) terminal.printJson({ files, mapping, message, notes })
  else terminal.print(describeResult({ ...proposal, files, notes }, terminal))
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

const testing = 'svc-gateway/testing'

/** A test that sends the sample to a gateway and compares what the agent reads. */
function describeTest(file: string, { mapping, headers, message }: CurlProposal): string {
  // The test has no secrets, so the gateway of the test gets the hook token.
  const { auth: _, ...tested } = mapping
  return `// The webhook ${mapping.match.path}: what the agent reads of its sample.
import { readFile } from 'node:fs/promises'
import { createTestGateway } from '${testing}'
import { expect, it, onTestFinished } from 'vitest'

// As in gateway.json5, without \`auth\`: the test sends the hook token.
const mapping = ${JSON5.stringify({ ...tested, deliver: false }, null, 2)}

const headers = ${JSON5.stringify(headers)}

it('gives the agent the expected message', async () => {
  const gateway = await createTestGateway({ config: { hooks: { mappings: [mapping] } } })
  onTestFinished(gateway.close)
  const payload = JSON.parse(await readFile(new URL(${JSON5.stringify(file)}, import.meta.url), 'utf8'))
  const path = ${JSON5.stringify(`/hooks/${mapping.match.path}`)}
  const { status, body } = await gateway.post(path, payload, { ...headers, prefer: 'wait=10' })
  expect({ status, run: body.status }).toEqual({ status: 200, run: 'succeeded' })
  expect(gateway.prompts[0]).toContain(${JSON5.stringify(message)})
})
`
}

interface Result extends CurlProposal {
  files: readonly string[]
}

function describeResult({ files, mapping, headers, notes }: Result, { commandLine }: Terminal): string {
  const [sample = '', test = ''] = files
  const { path } = mapping.match
  const event = Object.entries(headers).filter(([header]) => mapping.messageTemplate.includes(`headers.${header}`))
  const options = event.map(([header, value]) => ` --header ${quoteWord(`${header}: ${value}`)}`).join('')
  return [
    ...files.map((file) => `Wrote ${file}`),
    '',
    'Add this to `hooks.mappings` in your gateway.json5:',
    `${JSON5.stringify(mapping, null, 2)},`.replaceAll(/^/gm, '  '),
    '',
    ...notes,
    '',
    `Test it: npx vitest run ${quoteWord(test)}`,
    `Send it: ${commandLine(`trigger ${path} --file ${quoteWord(sample)}${options}`)}`,
  ].join('\n')
}
