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

const groups = [
  runEndpoints,
  requestEndpoints,
  hookEndpoints,
  scheduleEndpoints,
  sessionEndpoints,
  outboxEndpoints,
  pairingEndpoints,
  extensionEndpoints,
  channelEndpoints,
  configEndpoints,
]

/** What all of them need: TypeScript infers the intersection of the parameters. */
type EndpointDeps = (typeof groups)[number] extends (deps: infer Deps) => Endpoint[] ? Deps : never

export const createEndpoints = (deps: EndpointDeps): Endpoint[] => groups.flatMap((create) => create(deps))
