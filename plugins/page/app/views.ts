// The views of the page, in the order of the navigation. Each is a chunk of its own, loaded when it is opened.
import type { FunctionComponent } from 'preact'
import type { IconName } from '../ui/icons.tsx'
import type { Me } from './me.ts'

export interface View {
  /** The first part of the address, and the name of the view's folder. */
  name: string
  title: string
  icon: IconName
  /** Absent: the navigation does not list the view itself. */
  group?: '' | 'Agents' | 'Connections' | 'Gateway'
  /** The shortcut is `g` and this letter. */
  letter: string
  /** Whether the role of the reader includes what the view shows. Absent: every role does. */
  isFor?(me: Me): boolean
  load(): Promise<FunctionComponent>
}

const views: readonly View[] = [
  {
    name: 'home',
    title: 'Home',
    icon: 'home',
    group: '',
    letter: 'h',
    load: async () => (await import('../home/home.tsx')).Home,
  },
  {
    name: 'requests',
    title: 'Requests',
    icon: 'requests',
    group: '',
    letter: 'r',
    load: async () => (await import('../requests/requests.tsx')).Requests,
  },
  {
    name: 'runs',
    title: 'Runs',
    icon: 'runs',
    group: '',
    letter: 'u',
    load: async () => (await import('../runs/runs.tsx')).Runs,
  },
  {
    name: 'sessions',
    title: 'Sessions',
    icon: 'sessions',
    group: '',
    letter: 's',
    load: async () => (await import('../sessions/sessions.tsx')).Sessions,
  },
  {
    name: 'tools',
    title: 'Tools',
    icon: 'tools',
    group: 'Agents',
    letter: 't',
    load: async () => (await import('../tools/tools.tsx')).Tools,
  },
  {
    name: 'approvals',
    title: 'Approvals',
    icon: 'approvals',
    group: 'Agents',
    letter: 'a',
    load: async () => (await import('../approvals/approvals.tsx')).Approvals,
  },
  {
    name: 'schedules',
    title: 'Schedules',
    icon: 'schedules',
    group: 'Agents',
    letter: 'e',
    load: async () => (await import('../schedules/schedules.tsx')).Schedules,
  },
  {
    name: 'channels',
    title: 'Channels',
    icon: 'channels',
    group: 'Connections',
    letter: 'c',
    isFor: ({ may }) => may('GET /api/channels'),
    load: async () => (await import('../channels/channels.tsx')).Channels,
  },
  {
    name: 'outbox',
    title: 'Outbox',
    icon: 'outbox',
    group: 'Connections',
    letter: 'o',
    load: async () => (await import('../outbox/outbox.tsx')).Outbox,
  },
  {
    name: 'usage',
    title: 'Usage',
    icon: 'usage',
    group: 'Gateway',
    letter: 'b',
    isFor: ({ may }) => may('GET /api/usage'),
    load: async () => (await import('../usage/usage.tsx')).Usage,
  },
  {
    name: 'audit',
    title: 'Audit',
    icon: 'audit',
    group: 'Gateway',
    letter: 'd',
    load: async () => (await import('../audit/audit.tsx')).Audit,
  },
  {
    name: 'config',
    title: 'Configuration',
    icon: 'config',
    group: 'Gateway',
    letter: 'f',
    isFor: ({ may }) => may('GET /api/config/file'),
    load: async () => (await import('../config/config.tsx')).Configuration,
  },
  {
    name: 'log',
    title: 'Log',
    icon: 'log',
    group: 'Gateway',
    letter: 'l',
    isFor: ({ mayFollowLog }) => mayFollowLog,
    load: async () => (await import('../log/log.tsx')).Log,
  },
  {
    name: 'hooks',
    title: 'Hooks',
    icon: 'hooks',
    group: 'Connections',
    letter: 'k',
    isFor: ({ may }) => may('GET /api/hooks'),
    load: async () => (await import('../hooks/hooks.tsx')).Hooks,
  },
  {
    name: 'workbench',
    title: 'Workbench',
    icon: 'workbench',
    group: 'Connections',
    letter: 'w',
    isFor: ({ may }) => may('POST /api/hooks/preview'),
    load: async () => (await import('../workbench/workbench.tsx')).Workbench,
  },
  {
    name: 'panels',
    title: 'Panels',
    icon: 'extensions',
    letter: 'p',
    load: async () => (await import('../panels/panels.tsx')).Panels,
  },
]

/** The views that the role of the reader includes. */
export const viewsFor = (me: Me): readonly View[] => views.filter(({ isFor }) => isFor?.(me) ?? true)

export const firstView = 'home'
