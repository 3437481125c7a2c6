// All addresses of the control API that answer JSON, noun by noun.
import { configEndpoints } from './config.ts'
import { deliveryEndpoints } from './deliveries.ts'
import type { Endpoint } from './endpoint.ts'
import { hookEndpoints } from './hooks.ts'
import { outboxEndpoints } from './outbox.ts'
import { partEndpoints } from './parts.ts'
import { runEndpoints } from './runs.ts'
import { scheduleEndpoints } from './schedules.ts'
import { sessionEndpoints } from './sessions.ts'

type DepsOf<Make extends (deps: never) => unknown> = Parameters<Make>[0]

type EndpointDeps = DepsOf<typeof runEndpoints> &
  DepsOf<typeof deliveryEndpoints> &
  DepsOf<typeof hookEndpoints> &
  DepsOf<typeof scheduleEndpoints> &
  DepsOf<typeof sessionEndpoints> &
  DepsOf<typeof outboxEndpoints> &
  DepsOf<typeof partEndpoints> &
  DepsOf<typeof configEndpoints>

export const createEndpoints = (deps: EndpointDeps): Endpoint[] => [
  ...runEndpoints(deps),
  ...deliveryEndpoints(deps),
  ...hookEndpoints(deps),
  ...scheduleEndpoints(deps),
  ...sessionEndpoints(deps),
  ...outboxEndpoints(deps),
  ...partEndpoints(deps),
  ...configEndpoints(deps),
]
