// The type of a rule: it checks a configuration that matches the schema, and yields its findings.
import type { Config, ConfigurableExtensions } from '../schema/schema.ts'
import type { Finding } from '../file/secrets.ts'

export interface RuleContext {
  /** Without values that do not match the schema. They leave holes in lists, so that the others keep their index. */
  config: Config
  extensions: ConfigurableExtensions
  env: NodeJS.ProcessEnv
  /** The configuration directory. */
  dir: string
}

export interface RuleFinding extends Finding {
  /** A warning does not prevent the start. */
  warning?: boolean
  /** The finding is that all of these keys are missing. It is not reported if one of them has an invalid value. */
  missing?: readonly string[]
}

export type Rule = (context: RuleContext) => Iterable<RuleFinding>

/** The finding about a credential with fewer than 24 characters. */
export const shortToken = (keys: readonly string[]): RuleFinding => ({
  keys,
  code: 'token_short',
  problem: 'has fewer than 24 characters and could be guessed; use a longer one',
  warning: true,
})

/** Findings whose keys are relative to an entry, with the keys of the entry before theirs. */
export const at = (keysOfEntry: readonly string[], findings: Iterable<RuleFinding>): RuleFinding[] =>
  Array.from(findings, ({ keys, ...rest }) => ({ keys: [...keysOfEntry, ...keys], ...rest }))
