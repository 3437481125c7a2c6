// The law of providers: a model object that streams a reply, counts what it used, and stops when it is told to.
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { findFault } from '../../core/loader/verify.ts'
import type { Provider } from '../../core/plugin.ts'
import { createTestContext } from './context.ts'

export interface ProviderCase<Config> {
  config: Config
  /** A model that the provider has, and that answers any prompt with some text. */
  modelId: string
  /** A model that it does not have, where it can tell. */
  unknownModelId?: string
}

/**
 * @param openCase called by each test; a double of the model server can be opened in it and is given to `close`
 * afterwards
 */
export function providerContract<Config>(
  provider: Provider<Config>,
  openCase: () => Promise<ProviderCase<Config> & { close?(): Promise<void> }>,
): void {
  const withCase = async (
    use: (opened: ProviderCase<Config>, models: Awaited<ReturnType<typeof provider.models>>) => Promise<void>,
  ) => {
    const opened = await openCase()
    try {
      await use(opened, await provider.models(opened.config, { name: 'test', log: createTestContext().log }))
    } finally {
      await opened.close?.()
    }
  }

  describe(`provider ${provider.name}`, () => {
    it('is declared without fault', () => {
      expect(findFault(provider, { compile: true })).toBeUndefined()
    })

    it('gives a model object that streams a reply and counts its tokens', async () => {
      await withCase(async ({ modelId }, models) => {
        const model = models(modelId)
        expect(model).toBeTypeOf('object')
        const result = streamText({ model, prompt: 'Say something.', maxRetries: 0 })
        expect(await result.text).not.toBe('')
        expect((await result.totalUsage).totalTokens).toBeGreaterThan(0)
      })
    })

    it('does not start when it is told to stop', async () => {
      await withCase(async ({ modelId }, models) => {
        const result = streamText({
          model: models(modelId),
          prompt: 'Say something.',
          maxRetries: 0,
          abortSignal: AbortSignal.abort(),
          onError: () => undefined,
        })
        await expect(result.text).rejects.toThrow()
      })
    })

    it('throws for a model that it does not have', async () => {
      await withCase(async ({ unknownModelId }, models) => {
        if (unknownModelId !== undefined) expect(() => models(unknownModelId)).toThrow()
      })
    })
  })
}
