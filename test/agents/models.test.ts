// Tests how model references are resolved and refused, and that providers load only when needed.
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ModelError } from '../../core/agents/model-error.ts'
import { createModels, describeMissingPackage, resolveReasoning } from '../../core/agents/models.ts'
import { GatewayError } from '../../core/errors.ts'
import { defineProvider, type LanguageModel, type Provider, Type } from '../../core/plugin/plugin.ts'
import builtin from '../../plugins/providers/builtin.ts'
import { createTestContext } from '../contracts/context.ts'

interface Recorded {
  opened: { config: unknown; name: string }[]
  modelIds: string[]
}

/** A provider that records its calls and returns the built-in model. */
function recording(answer: (modelId: string) => Promise<LanguageModel> | LanguageModel): {
  provider: Provider<never>
  recorded: Recorded
} {
  const recorded: Recorded = { opened: [], modelIds: [] }
  const provider = defineProvider<unknown>({
    name: 'recording',
    description: 'Records its calls.',
    config: Type.Object({ apiKey: Type.Optional(Type.String({ secret: true })) }),
    async models(config, { name }) {
      recorded.opened.push({ config, name })
      const model = await answer('any')
      return (modelId) => {
        recorded.modelIds.push(modelId)
        return model
      }
    },
  })
  return { provider, recorded }
}

const rules = async () => (await builtin.models({}, { name: 'builtin', log: createTestContext().log }))('rules')

function setUp(answer: () => Promise<LanguageModel> = rules) {
  const { provider, recorded } = recording(answer)
  const providers = new Map<string, Provider<never>>([
    ['builtin', builtin],
    ['recording', provider],
  ])
  const config = {
    providers: {
      router: { kind: 'recording', apiKey: 'secret-key-of-router', firstTokenTimeout: '5m' },
      gone: { kind: 'not-loaded' },
    },
  }
  return { models: createModels({ config, providers, log: createTestContext().log }), recorded }
}

const modelsKey = 'agents.main.models'
const free = { models: undefined, modelsKey }
const listed = { models: ['router/vendor/large', { id: 'router/small', alias: 'quick', reasoning: false }], modelsKey }

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_request') return error.message
    throw error
  }
  throw new Error('The reference should have been refused.')
}

describe('a model reference', () => {
  it('is split at its first slash into provider and model id', async () => {
    const { models, recorded } = setUp()
    const model = models.resolve(' router/vendor/large ', free)
    expect(model).toMatchObject({ ref: 'router/vendor/large', reasoning: true, firstTokenTimeoutMs: 300_000 })
    await model.model()
    expect(recorded).toEqual({
      opened: [{ config: { apiKey: 'secret-key-of-router' }, name: 'router' }],
      modelIds: ['vendor/large'],
    })
  })

  it('may be an alias, with the settings of its entry', () => {
    const { models } = setUp()
    expect(models.resolveRequested('quick', listed)).toMatchObject({ ref: 'router/small', reasoning: false })
    expect(models.resolveRequested('router/small', listed)).toMatchObject({ ref: 'router/small', reasoning: false })
    expect(models.resolveRequested('router/vendor/large', listed)).toMatchObject({
      ref: 'router/vendor/large',
      reasoning: true,
    })
  })

  it('of a request must be in the list of models, unlike one of the configuration', () => {
    const { models } = setUp()
    expect(refusal(() => models.resolveRequested('builtin/rules', listed))).toBe(
      'model is not one of the models that may be used; name one of agents.main.models, or add it there.',
    )
    expect(refusal(() => models.resolveRequested('builtin/rules', { models: [], modelsKey }))).toContain(
      'model is not one',
    )
    expect(models.resolveRequested('builtin/rules', free).ref).toBe('builtin/rules')
    expect(models.resolve('builtin/rules', listed).ref).toBe('builtin/rules')
  })

  it.each(['nope', '/x', 'router/', '', 'quick'])('is refused when it has no valid form: %j', (reference) => {
    expect(refusal(() => setUp().models.resolve(reference, free))).toBe(
      'model must be <provider>/<model>, or the alias of a listed model.',
    )
  })

  it.each(['nope/x', 'gone/x', 'constructor/x', '__proto__/x'])(
    'is refused for an unknown provider, and not quoted: %j',
    (reference) => {
      expect(refusal(() => setUp().models.resolve(reference, free))).toBe(
        'model names a provider that is not configured; add it under providers, or name another one.',
      )
    },
  )

  it('to the built-in model needs no configuration', async () => {
    const model = await setUp().models.resolve('builtin/rules', free).model()
    expect(model.modelId).toBe('rules')
  })
})

describe('loading', () => {
  it('happens once for all models of a provider', async () => {
    const { models, recorded } = setUp()
    await Promise.all(['router/a', 'router/b'].map((reference) => models.resolve(reference, free).model()))
    expect(recorded.opened).toHaveLength(1)
    expect(recorded.modelIds).toEqual(['a', 'b'])
  })

  it('is tried again after a failure, whose error holds no secret', async () => {
    let broken = true
    const { models } = setUp(async () => {
      if (broken) throw new Error('refused secret-key-of-router')
      return await rules()
    })
    const model = models.resolve('router/a', free)
    const error = await model.model().catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({
      code: 'model_failed',
      message: 'The provider "router" could not open the model.',
      detail: 'Error: refused [secret]',
    })
    broken = false
    expect(await model.model()).toBeTypeOf('object')
  })

  it.each([
    ['openai/gpt', 'did not return a model object of the AI SDK'],
    [undefined, 'did not return a model object of the AI SDK'],
    [
      { specificationVersion: 'v5', modelId: 'a' },
      'returned a model object of the specification "v5"; v4, v3 and v2 of the AI SDK are known',
    ],
  ])('refuses %j as a model', async (model, fault) => {
    const { models } = setUp(async () => model as unknown as LanguageModel)
    await expect(models.resolve('router/a', free).model()).rejects.toMatchObject({
      code: 'model_failed',
      message: `The provider "router" ${fault}.`,
    })
  })

  it('names the command that installs a missing package', async () => {
    const missing = (name: string) =>
      setUp(async () => (await import(name)) as LanguageModel).models.resolve('router/a', free)
    await expect(missing('package-that-nobody-has').model()).rejects.toMatchObject({
      message:
        'The package package-that-nobody-has is not installed; install it with: npm install package-that-nobody-has',
    })
  })

  it('names the version that the gateway was tested with', () => {
    const error = Object.assign(new Error("Cannot find package '@ai-sdk/google' imported from /somewhere"), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
    const { optionalDependencies } = createRequire(import.meta.url)('../../package.json') as {
      optionalDependencies: Record<string, string>
    }
    expect(describeMissingPackage(error)).toBe(
      'The package @ai-sdk/google is not installed; install it with: ' +
        `npm install @ai-sdk/google@${optionalDependencies['@ai-sdk/google']}`,
    )
    expect(describeMissingPackage(new Error('Cannot find package'))).toBeUndefined()
    expect(describeMissingPackage(undefined)).toBeUndefined()
  })

  it('imports no vendor package before the first turn', async () => {
    const source = `
      import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ load: (url, context, next) => (seen.push(url), next(url, context)) })
      const { createModels } = await import('./core/agents/models.ts')
      await import('./core/agents/turn.ts')
      const names = ['builtin', 'anthropic', 'google', 'openai', 'openai-compatible']
      const load = async (name) => [name, (await import('./plugins/providers/' + name + '.ts')).default]
      const providers = new Map(await Promise.all(names.map(load)))
      const config = { providers: Object.fromEntries(names.map((kind) => [kind, { kind }])) }
      for (const name of names) createModels({ config, providers, log: console }).resolve(name + '/x', {})
      console.log(JSON.stringify(seen))`
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=svc-gateway-source',
      '--input-type=module',
      '--eval',
      source,
    ])
    const packages = (JSON.parse(stdout) as string[]).flatMap(
      (url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
    )
    expect([...new Set(packages)]).toEqual(['typebox'])
  })
})

describe('resolveReasoning', () => {
  it.each([
    ['off', 'none'],
    ['minimal', 'minimal'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'xhigh'],
  ] as const)('converts %s to %s', (thinking, reasoning) => {
    expect(resolveReasoning(thinking, { reasoning: true })).toBe(reasoning)
    expect(resolveReasoning(thinking, { reasoning: false })).toBeUndefined()
  })

  it('returns undefined without a level', () => {
    expect(resolveReasoning(undefined, { reasoning: true })).toBeUndefined()
  })
})
