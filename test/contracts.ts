// What every extension must do, as vitest suites for your own extensions: `svc-gateway/testing`.
export {
  type AcceptedMessage,
  channelContract,
  type Platform,
  type PlatformAbility,
  type PlatformSignature,
  type SaidFile,
} from './contracts/channel.ts'
export {
  type CommandCase,
  commandContract,
  type CommandResult,
  type CommandRun,
  runCommand,
} from './contracts/command.ts'
export { createTestContext, type TestContext } from './contracts/context.ts'
export {
  createTestGateway,
  type ModelAnswer,
  type TestGateway,
  type TestGatewayOptions,
  type TestResponse,
} from './contracts/gateway.ts'
export {
  type JobCase,
  type ExpectedAction,
  presetContract,
  type PresetCase,
  type PresetSample,
  type SignedSample,
} from './contracts/preset.ts'
export {
  type OpenProviderCase,
  type ProviderAbility,
  type ProviderAnswer,
  type ProviderCase,
  providerContract,
  type ProviderOptions,
} from './contracts/provider.ts'
export { type StoreHome, storeContract } from './contracts/store.ts'
export { type ToolCall, toolsetContract, type ToolsetCase } from './contracts/toolset.ts'
export { createTestToolApi } from './contracts/tool-api.ts'
export { type TransformCase, transformContract, type TransformSample } from './contracts/transform.ts'
