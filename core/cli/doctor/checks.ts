// The list of all checks, in the groups in which they are printed.
import { checkBacklog, checkConnections, checkGateway, checkOthers, checkProxy } from './gateway/running.ts'
import { checkChannels, checkConfig, checkHooks, checkPlugins, namePlugins } from './config.ts'
import { checkClock } from './clock.ts'
import { checkCosts } from './costs.ts'
import { checkCredentials } from './credentials.ts'
import { checkStore, checkStoreDisk, checkStoreFile, checkStoreSize } from './database.ts'
import { checkSpace } from './disk.ts'
import { checkExposure } from './exposure.ts'
import type { Outcome } from './finding.ts'
import { checkHistory } from './history.ts'
import { checkPrivacy, checkWriters } from './modes.ts'
import { checkModels, checkModelServers } from './models.ts'
import { checkPort } from './port.ts'
import type { Subject } from './subject.ts'
import { checkState, checkWorkspaces } from './writable.ts'

export interface Check {
  /** A sentence that is true if nothing is found. */
  title: string | ((subject: Subject) => string)
  find(subject: Subject): Outcome | Promise<Outcome>
}

export interface CheckGroup {
  name: string
  checks: readonly Check[]
}

export const groups: readonly CheckGroup[] = [
  {
    name: 'Configuration',
    checks: [
      { title: 'The configuration has no errors and no warnings.', find: checkConfig },
      { title: namePlugins, find: checkPlugins },
      { title: 'The credentials are hard to guess, and each has one use.', find: checkCredentials },
      { title: 'Configured webhooks are turned on.', find: checkHooks },
      { title: 'Somebody may write to the agents on every channel.', find: checkChannels },
    ],
  },
  {
    name: 'Files',
    checks: [
      { title: 'Other users cannot read the state and the secrets.', find: checkPrivacy },
      { title: 'Other users cannot change the configuration and the code.', find: checkWriters },
      { title: 'The state can be written.', find: checkState },
      { title: 'The workspaces exist and can be written.', find: checkWorkspaces },
      { title: 'The disk has space.', find: checkSpace },
    ],
  },
  {
    name: 'Store',
    checks: [
      { title: 'The store can be opened.', find: checkStore },
      { title: 'The store is the file that the gateway has opened.', find: checkStoreFile },
      { title: 'The store is on a local disk.', find: checkStoreDisk },
      { title: 'The store has a usual size.', find: checkStoreSize },
    ],
  },
  {
    name: 'Models',
    checks: [
      { title: 'The model servers answer and accept their credentials.', find: checkModelServers },
      { title: 'The model servers have the configured models.', find: checkModels },
      { title: 'The models can read whole conversations.', find: checkHistory },
      { title: 'Runs cost nothing.', find: checkCosts },
    ],
  },
  {
    name: 'Network',
    checks: [
      { title: 'The clock is right.', find: checkClock },
      { title: 'The port and the address can be used.', find: checkPort },
      { title: 'The gateway is not exposed without protection.', find: checkExposure },
    ],
  },
  {
    name: 'Running gateway',
    checks: [
      { title: 'It is ready, and runs the installed version and the current configuration.', find: checkGateway },
      { title: 'Gateways that share its store have its configuration.', find: checkOthers },
      { title: 'Channels, jobs and toolsets are connected.', find: checkConnections },
      { title: 'It sees the addresses of its callers.', find: checkProxy },
      { title: 'No runs are stuck, and no deliveries have failed.', find: checkBacklog },
    ],
  },
]
