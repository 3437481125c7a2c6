// What every extension must do, as vitest suites that anyone can run over a part of their own: `svc-gateway/testing`.
export { channelContract, type Platform } from './contracts/channel.ts'
export { createTestContext, type TestContext } from './contracts/context.ts'
export { providerContract, type ProviderCase } from './contracts/provider.ts'
export { type StoreHome, storeContract } from './contracts/store.ts'
export { type ToolCall, toolsetContract, type ToolsetCase } from './contracts/toolset.ts'
export { createTestVerbs } from './contracts/tool-api.ts'
