// All JSON endpoints of the control API.
import { channelEndpoints } from './channels.ts'
import { configEndpoints } from './config.ts'
import { requestEndpoints } from './requests.ts'
import type { Endpoint } from './endpoint.ts'
import { hookEndpoints } from './hooks.ts'
import { outboxEndpoints } from './outbox.ts'
import { pairingEndpoints } from './pairings.ts'
import { extensionEndpoints } from './extensions.ts'
import { runEndpoints } from './runs.ts'
import { scheduleEndpoints } from './schedules.ts'
import { sessionEndpoints } from './sessions.ts'

type DepsOf<Make extends (deps: never) => unknown> = Parameters<Make>[0]

type EndpointDeps = DepsOf<typeof runEndpoints> &
  DepsOf<typeof requestEndpoints> &
  DepsOf<typeof hookEndpoints> &
  DepsOf<typeof scheduleEndpoints> &
  DepsOf<typeof sessionEndpoints> &
  DepsOf<typeof outboxEndpoints> &
  DepsOf<typeof pairingEndpoints> &
  DepsOf<typeof extensionEndpoints> &
  DepsOf<typeof channelEndpoints> &
  DepsOf<typeof configEndpoints>

export const createEndpoints = (deps: EndpointDeps): Endpoint[] => [
  ...runEndpoints(deps),
  ...requestEndpoints(deps),
  ...hookEndpoints(deps),
  ...scheduleEndpoints(deps),
  ...sessionEndpoints(deps),
  ...outboxEndpoints(deps),
  ...pairingEndpoints(deps),
  ...extensionEndpoints(deps),
  ...channelEndpoints(deps),
  ...configEndpoints(deps),
]
