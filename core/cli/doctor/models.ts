// Checks the model servers, and that they have the models that the configuration names.
import { listModelReferences, type ModelReference } from '../../agents/model-references.ts'
import { nearest } from '../../config/nearest.ts'
import type { Config } from '../../config/schema/schema.ts'
import { type Finding, type Skipped, splitFix } from './finding.ts'
import type { ModelAnswer } from './model-servers.ts'
import { type DoctorOptions, withConfig } from './subject.ts'

/** Why no server is asked. */
function findReason({ providers }: Pick<Config, 'providers'>, { offline = false }: DoctorOptions): Skipped | undefined {
  if (Object.keys(providers).length === 0) return { skipped: 'no provider is configured' }
  return offline ? { skipped: '--offline was given' } : undefined
}

export const checkModelServers = withConfig(
  async ({ resolved: { config } }, { modelAnswers, options }) =>
    findReason(config, options) ?? (await modelAnswers).flatMap(describeAnswer),
)

export const checkModels = withConfig(async ({ resolved: { config, dir } }, { modelAnswers, options }) => {
  const reason = findReason(config, options)
  if (reason) return reason
  const lists = new Map((await modelAnswers).flatMap(({ provider, ids }) => (ids ? [[provider, ids] as const] : [])))
  if (lists.size === 0) return { skipped: 'no model server lists its models' }
  const all = listModelReferences(config, dir)
  // Each model once, where it is named first.
  const references = all.filter(({ model }, index) => all.findIndex((other) => other.model === model) === index)
  return references.flatMap((reference) => {
    const slash = reference.model.indexOf('/')
    const ids = lists.get(reference.model.slice(0, slash))
    const id = reference.model.slice(slash + 1)
    return ids === undefined || ids.includes(id) ? [] : [unknownModel(reference, { id, ids })]
  })
})

function describeAnswer({ provider, state, reason = '' }: ModelAnswer): Finding[] {
  const where = `providers.${provider}`
  const sentence = reason.replace(/\.$/, '')
  const texts: Record<Exclude<ModelAnswer['state'], 'listed'>, Omit<Finding, 'where'>> = {
    key_missing: {
      id: 'model_key_missing',
      severity: 'error',
      ...splitFix(`${where} cannot be used: ${sentence}`, `Set ${where}.apiKey.`),
    },
    key_refused: {
      id: 'model_key_refused',
      severity: 'error',
      problem: `${sentence}.`,
      fix: `Set ${where}.apiKey to a valid key.`,
    },
    unreachable: {
      id: 'model_unreachable',
      severity: 'error',
      ...splitFix(reason, `Start or repair the server, or correct ${where}.baseUrl.`),
    },
    unlisted: {
      id: 'model_list_missing',
      severity: 'warning',
      problem: `${sentence.replace(/;.*$/, '')}, so it is not known which models it has.`,
      fix:
        `Check ${where}.baseUrl: it usually ends with a version, such as /v1. Ignore this if the server has no such ` +
        'list.',
    },
  }
  return state === 'listed' ? [] : [{ where, ...texts[state] }]
}

/** How many models a message lists. */
const shownModels = 5

function unknownModel({ where, model }: ModelReference, { id, ids }: { id: string; ids: readonly string[] }): Finding {
  const provider = model.slice(0, model.indexOf('/'))
  const meant = nearest(id, ids)
  const shown = ids.slice(0, shownModels).map((one) => `"${provider}/${one}"`)
  const list = `${shown.join(', ')}${ids.length > shownModels ? `, or another of its ${ids.length} models` : ''}`
  return {
    id: 'model_unknown',
    severity: 'error',
    where,
    problem: `${where} is "${model}", but the model server of providers.${provider} has no model "${id}".`,
    fix: meant === undefined ? `Use ${list}.` : `Did you mean "${provider}/${meant}"?`,
  }
}
