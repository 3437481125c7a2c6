// The samples of presets: lists them, and handles one as if its service had sent it.
import { randomUUID } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import type { Preset, SampleRequest } from '../plugin/plugin.ts'
import type { Replay, ReplayRequest } from './replay.ts'

export interface Samples {
  /** A preset without samples has an empty list. Throws `not_found` if there is no such preset. */
  list(preset: string): Promise<readonly SampleRequest[]>
  /** Starts what the preset makes of a sample. It needs no signature, because an operator sends it. */
  send(preset: string, sample: string, by: Pick<ReplayRequest, 'client' | 'audit'>): Promise<object>
}

interface SamplesDeps {
  presets: ReadonlyMap<string, Pick<Preset, 'samples'>>
  replay: Replay
}

export function createSamples({ presets, replay }: SamplesDeps): Samples {
  const list = async (name: string): Promise<readonly SampleRequest[]> => {
    const preset = presets.get(name)
    if (!preset) throw new GatewayError('not_found', 'There is no preset of this name.')
    return (await preset.samples?.({ id: randomUUID(), now: new Date().toISOString() })) ?? []
  }
  return {
    list,
    send: async (preset, wanted, by) => {
      const sample = (await list(preset)).find(({ name }) => name === wanted)
      if (!sample) throw new GatewayError('not_found', 'The preset has no sample of this name.')
      const { headers = {}, payload } = sample
      const request = { hook: preset, headers, query: {}, body: JSON.stringify(payload), result: {} }
      return await replay(request, { ...by, checkAgent: () => {} })
    },
  }
}
