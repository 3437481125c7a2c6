// The names that the policy knows by itself: profiles, groups, and what is kept from some callers unless it is opened
// to them.

export const profiles: Readonly<Record<'minimal' | 'coding' | 'messaging' | 'full', readonly string[]>> = {
  minimal: ['session_status'],
  coding: ['group:fs', 'group:runtime', 'group:sessions', 'group:web', 'cron'],
  messaging: ['message', 'sessions_list', 'sessions_history', 'sessions_send', 'session_status'],
  full: ['*'],
}

/** Tools that belong to a group by their names. A tool may name a group of its own beside. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  sessions: ['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'session_status', 'agents_list'],
  fs: ['read', 'write', 'edit', 'list'],
  runtime: ['exec'],
  web: ['web_fetch'],
  automation: ['cron', 'gateway'],
  messaging: ['message'],
}

/** A subagent does its task; it does not steer what started it. */
export const deniedToSubagents: readonly string[] = [
  'gateway',
  'agents_list',
  'whatsapp_login',
  'session_status',
  'cron',
  'sessions_send',
  'sessions_spawn',
  'sessions_list',
  'sessions_history',
]

/** What a text from a stranger could do lasting harm with, and what shows other people's conversations. */
export const deniedToHooks: readonly string[] = [
  'exec',
  'gateway',
  'cron',
  'write',
  'edit',
  'sessions_list',
  'sessions_history',
]

/** What reaches beyond the one call that a client makes. */
export const deniedToHttp: readonly string[] = ['sessions_spawn', 'sessions_send', 'gateway', 'whatsapp_login']
