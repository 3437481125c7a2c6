// The built-in names of the tool policy: profiles, groups, and tools that some callers may not use by default.

export const profiles: Readonly<Record<'minimal' | 'coding' | 'messaging' | 'full', readonly string[]>> = {
  minimal: ['session_status'],
  coding: ['group:fs', 'group:runtime', 'group:sessions', 'group:web', 'cron'],
  messaging: ['message', 'sessions_list', 'sessions_history', 'sessions_send', 'session_status'],
  full: ['*'],
}

/** Groups and the tools that they contain. A tool may declare another group in addition. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  sessions: ['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'session_status', 'agents_list'],
  fs: ['read', 'write', 'edit', 'list'],
  runtime: ['exec'],
  web: ['web_fetch'],
  automation: ['cron', 'gateway'],
  messaging: ['message'],
  channels: ['whatsapp_login'],
}

/** Tools with which a subagent could control the sessions and the gateway that started it. */
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

/** The login tools of all channels: whoever uses one controls an account. */
export const loginTools: readonly string[] = ['group:channels']

/** Tools with which external content could do lasting harm or read other conversations. */
export const deniedToHooks: readonly string[] = [
  'exec',
  'gateway',
  'cron',
  'write',
  'edit',
  'sessions_list',
  'sessions_history',
]

/** Tools whose effect goes beyond the client's call. */
export const deniedToHttp: readonly string[] = ['sessions_spawn', 'sessions_send', 'gateway', 'whatsapp_login']
