// What a rule is: it looks at a configuration whose values fit the schema, and yields what it finds.
import type { Config, ConfigurableExtensions } from '../schema.ts'
import type { Finding } from '../file/secrets.ts'

export interface RuleContext {
  /**
   * Values that do not fit the schema are left out; a list that had one has a hole there, so that the others keep their
   * index.
   */
  config: Config
  extensions: ConfigurableExtensions
  env: NodeJS.ProcessEnv
  /** The configuration directory. */
  dir: string
}

export interface RuleFinding extends Finding {
  /** A warning is told; anything else stops the start. */
  warning?: boolean
}

export type Rule = (context: RuleContext) => Iterable<RuleFinding>
