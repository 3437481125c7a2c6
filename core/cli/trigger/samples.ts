// The samples of presets: finds the one to send, and lists them.
import { randomUUID } from 'node:crypto'
import { normalizeHookName } from '../../config/hooks-path.ts'
import { suggest } from '../../config/nearest.ts'
import { type Extensions, loadBuiltins } from '../../loader/registry.ts'
import type { SampleRequest } from '../../plugin/plugin.ts'
import { CommandError } from '../../plugin/errors.ts'

export interface SampleSource {
  hook: string
  /** Those of the configuration. Undefined: only the built-in presets are known. */
  extensions: Pick<Extensions, 'presets'> | undefined
}

/** @param wanted the name of the sample; `true`: the first one */
export async function findSample(source: SampleSource, wanted: string | true): Promise<SampleRequest> {
  const samples = await readSamples(source)
  const found = samples.find(({ name }) => wanted === true || name === wanted)
  if (found) return found
  const names = samples.map(({ name }) => name)
  const fix = suggest(String(wanted), names, `use one of these: ${names.join(', ')}.`)
  throw new CommandError(`The preset "${source.hook}" has no sample "${wanted}"; ${fix}`)
}

/** One name per line, or the samples as JSON. */
export async function listSamples(
  source: SampleSource,
  { json = false }: { json?: boolean | undefined },
): Promise<string> {
  const samples = await readSamples(source)
  return samples.map((sample) => `${json ? JSON.stringify(sample) : sample.name}\n`).join('')
}

async function readSamples({ hook, extensions }: SampleSource): Promise<readonly SampleRequest[]> {
  const { presets } = extensions ?? (await loadBuiltins())
  const samples = await presets
    .get(normalizeHookName(hook))
    ?.samples?.({ id: randomUUID(), now: new Date().toISOString() })
  if (samples && samples.length > 0) return samples
  const known = [...presets].flatMap(([name, preset]) => (preset.samples ? [name] : []))
  const fix = suggest(hook, known, `give the payload with --data or --file, or use one of these: ${known.join(', ')}.`)
  throw new CommandError(`There is no preset "${hook}" that has samples; ${fix}`)
}
