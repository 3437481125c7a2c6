// What the command `doctor` finds.

/** docs/cli.md describes each of them. */
export const findingIds = [
  'bind_public',
  'bind_unknown',
  'budget_silent',
  'channel_closed',
  'channel_disconnected',
  'channel_unknown',
  'client_expired',
  'client_expiring',
  'clock_wrong',
  'config_differs',
  'config_invalid',
  'config_missing',
  'config_not_loaded',
  'config_readable',
  'config_warning',
  'database_large',
  'database_newer',
  'database_on_network',
  'database_read_only',
  'database_refused',
  'database_replaced',
  'database_risky',
  'database_unreachable',
  'database_unusable',
  'deliveries_failed',
  'disk_nearly_full',
  'environment_unset',
  'gateway_not_ready',
  'gateway_refused',
  'gateway_unreachable',
  'history_too_long',
  'hooks_disabled',
  'job_failing',
  'mapping_unreached',
  'model_key_missing',
  'model_key_refused',
  'model_list_missing',
  'model_unknown',
  'model_unreachable',
  'package_missing',
  'plugin_faulty',
  'plugin_refused',
  'port_taken',
  'preset_unsigned',
  'price_unknown',
  'proxy_untrusted',
  'reply_undeliverable',
  'runs_stuck',
  'secret_file_missing',
  'secret_file_readable',
  'state_not_writable',
  'state_readable',
  'strangers_admitted',
  'time_zone_unknown',
  'token_missing',
  'token_reused',
  'token_short',
  'token_weak',
  'toolset_failing',
  'transform_broken',
  'turn_cost',
  'version_differs',
  'workspace_missing',
  'workspace_not_writable',
  'writable_by_others',
] as const

export type FindingId = (typeof findingIds)[number]

export interface Finding {
  id: FindingId
  /** An error stops something from working. What is good to know has the severity `info`. */
  severity: 'error' | 'warning' | 'info'
  /** A key of the configuration, a file, or an address. */
  where: string
  /** The line of the configuration file. */
  line?: number
  /** A sentence, without secrets. */
  problem: string
  /** What to do: a key to change, or a command to run. */
  fix: string
}

/** Why a check could not run, as the end of a sentence. */
export interface Skipped {
  skipped: string
}

export type Outcome = readonly Finding[] | Skipped

/** Most error messages end with their fix, after a semicolon. A message without one gets `fallback`. */
export function splitFix(message: string, fallback: string): Pick<Finding, 'problem' | 'fix'> {
  const text = message.trim().replace(/\.$/, '')
  const [, problem = text, fix] = /^(.*); (.*)$/s.exec(text) ?? []
  return { problem: `${problem}.`, fix: fix === undefined ? fallback : toSentence(fix) }
}

/** A command at the end stays without a full stop, so that it can be copied. */
const toSentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.?]$|\brun: /.test(text) ? '' : '.')
