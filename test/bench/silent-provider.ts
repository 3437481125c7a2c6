// A provider whose model never answers, so that the benchmark measures only the cost of accepting a run.
import { defineProvider, type LanguageModel, Type } from 'svc-gateway/plugin'

const silent = {
  specificationVersion: 'v4',
  provider: 'silent',
  modelId: 'silent',
  supportedUrls: {},
  doGenerate: () => new Promise<never>(() => {}),
  doStream: () => new Promise<never>(() => {}),
} satisfies LanguageModel

export default defineProvider({
  name: 'silent',
  description: 'A model that never answers.',
  config: Type.Object({}),
  models: async () => () => silent,
})
