// Exports what runs do as spans. A span is exported when it has ended, from the record of what it shows.
import type { Config } from '../config/schema/schema.ts'
import type { Provider } from '../plugin/plugin.ts'
import type { RunResult } from '../store/run-spec.ts'
import type { AcceptCommand, DeliveryEnd, RunEnd, Step, Store, StoredDelivery, StoredRun } from '../store/store.ts'
import type { TraceContext } from '../telemetry/trace-context.ts'
import type { EndedSpan, Tracer } from '../telemetry/tracer.ts'
import { type AttemptEnd, Stopped } from './attempt-result.ts'
import {
  type EndedAttempt,
  type SpanContext,
  spanOfAttempt,
  spanOfDelivery,
  spanOfRun,
  spanOfStep,
  stepPlace,
  toInterrupted,
} from './run-spans.ts'

export interface RunTracing {
  /** Gives the runs of a command their place in a trace: below a span, or at the beginning of a new trace. */
  begin(command: AcceptCommand, trace?: TraceContext): AcceptCommand
  end(run: StoredRun, end: RunEnd): void
  /** Makes an attempt, and exports its span however it ends. */
  attempt(run: StoredRun, makeAttempt: () => Promise<AttemptEnd>): Promise<AttemptEnd>
  /** Does nothing while the step has not ended. */
  step(run: StoredRun, step: Step): void
  /** The span of a step of the latest attempt. Undefined if traces were off when the run was accepted. */
  traceOfStep(run: StoredRun, number: number): TraceContext | undefined
  /** Exports the span of an attempt at a delivery, if a run caused it. */
  delivery(delivery: StoredDelivery, end: DeliveryEnd, startedAt: number): Promise<void>
}

interface TracingDeps {
  tracer: Tracer
  store: Pick<Store, 'getRun'>
  config(): Pick<Config, 'agents' | 'providers' | 'telemetry'>
  providers: ReadonlyMap<string, Pick<Provider, 'name' | 'service'>>
  /** Removes the secrets of the configuration. */
  redact(text: string): string
}

export function createRunTracing({ tracer, store, config, providers, redact }: TracingDeps): RunTracing {
  const createContext = (): SpanContext => ({
    config: config(),
    nameProvider: (section) => {
      const provider = providers.get(config().providers[section]?.kind ?? '')
      return provider?.service ? (provider.service.traceName ?? provider.name) : section
    },
    redact,
  })

  const exportSpan = (run: StoredRun, { error, ...span }: EndedSpan): void => {
    const message = error?.message === undefined ? undefined : redact(error.message)
    const attributes = { ...span.attributes, 'svc_gateway.run.id': run.id }
    tracer.export({ ...span, attributes, ...(error && { error: { ...error, message } }) })
  }

  const exportAttempt = (run: StoredRun, ended: EndedAttempt): void =>
    exportSpan(run, spanOfAttempt(run, ended, createContext()))

  return {
    begin: (command, trace) => {
      const place = trace ?? (command.runs?.length ? { ...tracer.begin(), isFirst: true } : undefined)
      return { ...command, runs: command.runs?.map((run) => ({ ...run, spec: { ...run.spec, trace: place } })) }
    },

    end: (run, end) => {
      if (!run.spec.trace) return
      const { at, result } = end
      const { attempts, startedAt } = run
      // Its process has died, and no attempt is left that would export it.
      if (result.error?.type === 'interrupted' && startedAt !== null)
        exportAttempt(run, { number: attempts.length + 1, startedAt, endedAt: at, result })
      exportSpan(run, spanOfRun(run, end, createContext()))
    },

    attempt: async (run, makeAttempt) => {
      if (!run.spec.trace) return await makeAttempt()
      const earlier = run.attempts.at(-1)
      // The process that died within this attempt could not export it.
      if (earlier?.reason === 'interrupted') exportAttempt(run, toInterrupted(earlier, run.attempts.length))
      const startedAt = run.startedAt ?? Date.now()
      const ended = (result: RunResult): void =>
        exportAttempt(run, { number: run.attempts.length + 1, startedAt, endedAt: Date.now(), result })
      try {
        const end = await makeAttempt()
        if ('wait' in end) return end
        ended('isSuspended' in end ? {} : 'retry' in end ? end.retry.result : end.result)
        return end
      } catch (error) {
        const type = error instanceof Stopped ? error.reason : 'internal_error'
        // Another gateway has the run now, and exports this attempt as interrupted.
        if (type !== 'lost') ended({ error: { type, message: 'The gateway ended the attempt.' } })
        throw error
      }
    },

    step: (run, step) => {
      const { endedAt } = step
      if (run.spec.trace && endedAt !== null) exportSpan(run, spanOfStep(run, { ...step, endedAt }, createContext()))
    },

    traceOfStep: (run, number) => run.spec.trace && stepPlace(run, run.attempts.length + 1, number),

    delivery: async (delivery, { status }, startedAt) => {
      const run = delivery.runId ? await store.getRun(delivery.runId) : undefined
      if (run?.spec.trace) exportSpan(run, spanOfDelivery(run, delivery, { status, startedAt }))
    },
  }
}
