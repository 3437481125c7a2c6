// Tests provenance with random sequences: webhooks, people and strangers write to three agents, whose model tries every
// tool and repeats everything that it sees. `PROVENANCE_SEQUENCES` says how many, `PROVENANCE_SEED` which is the first.
import { expect, it } from 'vitest'
import { type ModelServer, startModel } from '../doubles/model.ts'
import { createSequence, type Sequence, shrink } from './provenance/sequence.ts'
import { runSequences } from './provenance/world.ts'

const count = Number(process.env['PROVENANCE_SEQUENCES'] ?? 60)
const first = Number(process.env['PROVENANCE_SEED'] ?? 1)
/** How many sequences share a gateway and run at the same time. */
const batch = 50

it(
  'lets no turn do more than the least trusted author of what it sees, and no private text out',
  { timeout: 60_000 + count * 60_000 },
  async () => {
    const model = await startModel()
    const total = { sequences: 0, requests: 0, made: 0, forbidden: 0, approved: 0 }
    for (let seed = first; seed < first + count; seed += batch) {
      const size = Math.min(batch, first + count - seed)
      const sequences = Array.from({ length: size }, (_, index) => createSequence(seed + index))
      const { violations, ...counts } = await runSequences(model, sequences)
      total.sequences += size
      for (const [name, value] of Object.entries(counts)) total[name as keyof typeof counts] += value
      console.log(`seeds ${seed} to ${seed + size - 1}: ${JSON.stringify(total)}`)
      const [violation] = violations
      if (violation) expect.fail(await explain(model, createSequence(violation.seed), violation))
    }
    expect(total.made).toBeGreaterThan(total.sequences)
    expect(total.forbidden).toBeGreaterThan(total.sequences)
  },
)

/** The smallest sequence that fails, with what it has done. A race may hide a failure, so each is tried three times. */
async function explain(model: ModelServer, sequence: Sequence, violation: object): Promise<string> {
  const fails = async (candidate: Sequence): Promise<boolean> => {
    const { violations } = await runSequences(model, [candidate, candidate, candidate])
    return violations.length > 0
  }
  const { graph, events } = await shrink(sequence, fails)
  return [JSON.stringify(violation), JSON.stringify(graph), ...events.map((event) => JSON.stringify(event))].join('\n')
}
