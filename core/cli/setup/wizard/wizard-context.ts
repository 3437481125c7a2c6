// What the questions of the wizard need.
import type { Changes, SetupContext } from '../context.ts'

export interface WizardContext extends SetupContext {
  /** The answers of the options, without channels. They are valid. */
  given: Changes
}
