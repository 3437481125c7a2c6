// What every provider must do: its models stream a reply, count tokens, and stop on a signal.
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { findFault } from '../../core/loader/verify.ts'
import type { Provider } from '../../core/plugin/plugin.ts'
import { createTestContext } from './context.ts'

export interface ProviderCase<Config> {
  config: Config
  /** A model that answers any prompt with some text. */
  modelId: string
}

/**
 * @param openCase called before each test, for example to start a double of the model server; `close` of its result is
 * called afterwards
 * @param options `unknownModelId` is a model that the provider does not have; leave it out if the provider cannot tell
 */
export function providerContract<Config>(
  provider: Provider<Config>,
  openCase: () => Promise<ProviderCase<Config> & { close?(): Promise<void> }>,
  { unknownModelId }: { unknownModelId?: string } = {},
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

    it('returns a model object that streams a reply and counts tokens', async () => {
      await withCase(async ({ modelId }, models) => {
        const model = models(modelId)
        expect(model).toBeTypeOf('object')
        const result = streamText({ model, prompt: 'Say something.', maxRetries: 0 })
        expect(await result.text).not.toBe('')
        expect((await result.totalUsage).totalTokens).toBeGreaterThan(0)
      })
    })

    it('does not start with an aborted signal', async () => {
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

    if (unknownModelId !== undefined)
      it('throws for an unknown model', async () => {
        await withCase(async (_opened, models) => {
          expect(() => models(unknownModelId)).toThrow()
        })
      })
  })
}
