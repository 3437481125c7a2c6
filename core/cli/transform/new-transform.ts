// The command `transform new`: writes a transform and a sample of its payload, and prints how to test and use it.
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { inspect } from 'node:util'
import { commandLine } from '../../config/file/locate.ts'
import { isHookName, normalizeHookName } from '../../config/hooks-path.ts'
import { CommandError } from '../../plugin/errors.ts'
import { quoteWord } from '../../kit/command-input.ts'
import { printJson } from '../terminal.ts'
import { readTemplate } from '../read-template.ts'
import { readTransformConfig } from './read-config.ts'

interface NewOptions {
  name: string
  hook?: string
  config?: string
  json?: boolean
}

export async function createTransform({ name: given, hook, config, json = false }: NewOptions): Promise<void> {
  const name = given.replace(/\.ts$/, '')
  if (!/^[a-z\d][\w-]{0,63}$/i.test(name))
    throw new CommandError(
      `The transform cannot be called "${given}"; use letters, digits, dashes and underscores, without a folder.`,
    )
  const path = readHook(hook ?? name)
  const folder = (await readTransformConfig(config)).config.hooks.transformsDir
  const sample = join(folder, `${name}.payload.json`)
  const files = new Map([
    [join(folder, `${name}.ts`), readTemplate('transform/transform.ts').replaceAll('transform-name', name)],
    [sample, readTemplate('transform/payload.json')],
  ])
  writeFiles(folder, files)
  const mapping = { match: { path }, name, transform: { module: `${name}.ts` } }
  const created = { files: [...files.keys()], test: describeTest({ name, sample, config }), mapping }
  if (json) printJson(created)
  else process.stdout.write(describeUse(created))
}

function readHook(hook: string): string {
  const path = normalizeHookName(hook)
  if (isHookName(path) && path !== 'wake' && path !== 'agent') return path
  throw new CommandError(`--hook: a mapping cannot have the path "${hook}"; use another one, such as "alerts".`)
}

/** Nothing is overwritten, and a symbolic link is not followed. If one file exists, none is written. */
function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  const existing = [...files.keys()].find((file) => lstatSync(file, { throwIfNoEntry: false }))
  if (existing) throw new CommandError(`${existing} already exists; use another name, or remove the file.`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const [file, text] of files) writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    throw new CommandError(`A file cannot be written into ${folder} (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function describeTest({ name, sample, config }: { name: string; sample: string; config: string | undefined }): string {
  const file = relative(process.cwd(), sample)
  const configOption = config === undefined ? '' : ` --config ${quoteWord(config)}`
  return commandLine(`transform test ${name}.ts --payload ${quoteWord(file)}${configOption}`)
}

interface Created {
  files: readonly string[]
  /** The command that tests the transform. */
  test: string
  mapping: object
}

const describeUse = ({ files, test, mapping }: Created): string =>
  [
    ...files.map((file) => `Wrote ${file}`),
    '',
    'Test it:',
    `  ${test}`,
    'Use it: add this to `hooks.mappings` in your gateway.json5',
    `  ${inspect(mapping, { breakLength: Infinity })},`,
    '',
  ].join('\n')
