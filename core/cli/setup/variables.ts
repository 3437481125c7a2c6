// References to environment variables: `${NAME}` in the file, and the names that secrets usually have.
import type { JsonSchema } from '../../typebox.ts'
import type { Channel, Preset } from '../../plugin/plugin.ts'

export const reference = (variable: string): string => `\${${variable}}`

/** Writes a typed secret as text. A complete `${NAME}` stays a reference. */
export const secretText = (typed: string): string =>
  /^\$\{[A-Za-z_]\w*\}$/.test(typed) ? typed : typed.replaceAll('${', () => '$${')

/** `telegram`, `botToken` → `TELEGRAM_BOT_TOKEN` */
export const variableOf = (name: string, key: string): string =>
  `${name}_${key.replaceAll(/(?=[A-Z])/g, '_')}`.replaceAll('-', '_').toUpperCase()

/** The variable that holds the secret with which the service of a preset signs. */
export const webhookVariable = (preset: string): string => variableOf(preset, 'webhookSecret')

/** One key of an extension's settings. */
export interface Setting {
  key: string
  schema: JsonSchema & { description?: string }
  isSecret: boolean
  /** It may be left blank. */
  isOptional?: boolean
}

/** The settings that have no default and must be given. */
export function requiredSettings({ config = {} }: Pick<Channel<never> | Preset<never>, 'config'>): Setting[] {
  const { properties = {}, required = [] } = config as {
    properties?: Record<string, Setting['schema'] & { default?: unknown; secret?: boolean }>
    required?: readonly string[]
  }
  return required.flatMap((key) => {
    const schema = properties[key]
    return schema && schema.default === undefined ? [{ key, schema, isSecret: schema.secret === true }] : []
  })
}

/** References to those variables of the environment that have the usual names of the channel's secrets. */
export function channelSecrets(channel: Channel<never>, env: NodeJS.ProcessEnv): Record<string, string> {
  const found = requiredSettings(channel)
    .map(({ key, isSecret }) => ({ key, isSecret, variable: variableOf(channel.name, key) }))
    .filter(({ isSecret, variable }) => isSecret && env[variable])
  return Object.fromEntries(found.map(({ key, variable }) => [key, reference(variable)]))
}
