// Sends one message to the configured model, as a run would.
import { ModelError } from '../../agents/model-error.ts'
import { createModels } from '../../agents/models.ts'
import { createTurn } from '../../agents/turn.ts'
import type { Config } from '../../config/schema/schema.ts'
import { GatewayError } from '../../errors.ts'
import { noProvenance } from '../../store/provenance.ts'
import type { Extensions } from '../../loader/registry.ts'
import { silentLog } from '../../loader/extension-log.ts'

export type ModelResult = { model: string; ms: number } & ({ reply: string } | { problem: string })

/** A server on this machine may have to load the model first. */
const limitSeconds = 120

export async function tryModel(
  { agents: { defaults }, providers }: Pick<Config, 'agents' | 'providers'>,
  extensions: Pick<Extensions, 'providers'>,
): Promise<ModelResult> {
  const start = performance.now()
  const signal = AbortSignal.timeout(limitSeconds * 1000)
  const model = defaults.model
  const finish = <Result>(result: Result) => ({ model, ms: Math.round(performance.now() - start), ...result })
  try {
    const runTurn = createTurn({
      invoke: refuse,
      tools: () => [],
      describedBy: () => noProvenance,
      check: refuse,
      log: silentLog,
      maxRetries: 0,
    })
    const models = createModels({ config: { providers }, providers: extensions.providers, log: silentLog })
    const { reply } = await runTurn({
      agent: { id: 'main', maxSteps: 1, maxOutputTokens: undefined },
      model: models.resolve(model, { models: defaults.models }),
      system: 'Answer in one short sentence.',
      prompt: 'Say hello.',
      history: [],
      sessionKey: 'agent:main:setup',
      runId: 'setup',
      attempt: 1,
      record: refuse,
      sources: { subject: () => starter, add: async () => undefined, provenance: refuse, isNamedUrl: refuse },
      signal,
    })
    return finish(reply === '' ? { problem: 'Its reply was empty.' } : { reply })
  } catch (error) {
    return finish({ problem: signal.aborted ? `It did not reply within ${limitSeconds} seconds.` : describe(error) })
  }
}

const starter = { caller: 'agent', agentId: 'main', sessionKey: 'agent:main:setup' } as const

const refuse = (): never => {
  throw new Error('There are no tools.')
}

/** The detail may quote the message, which is no secret here. */
function describe(error: unknown): string {
  if (error instanceof ModelError) return error.detail ? `${error.message} (${error.detail})` : error.message
  return error instanceof GatewayError ? error.message : 'The model could not be tried.'
}

/** The start of a reply. */
export function firstWords(reply: string): string {
  const line = reply.replaceAll(/\s+/g, ' ').trim()
  return line.length > 80 ? `${line.slice(0, 80).toWellFormed()}…` : line
}
