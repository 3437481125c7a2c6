// Says what to configure so that the extensions of a plugin do something.
import { fieldsOf } from '../../kit/shapes.ts'
import type { Extension } from '../../plugin/plugin.ts'

/** One sentence for each extension, with the keys of its settings that have no default. */
export function describeSettings(extensions: readonly Extension[]): string[] {
  // A scheme mostly comes with the preset that uses it.
  const used = new Set(extensions.flatMap((one) => (one.kind === 'preset' ? (one.auth?.scheme ?? []) : [])))
  return extensions.filter((one) => one.kind !== 'scheme' || !used.has(one.name)).flatMap(describeOne)
}

function describeOne(extension: Extension): string[] {
  const { kind, name } = extension
  switch (kind) {
    case 'channel':
      return [`The channel ${name}: set ${sectionOf(`channels.${name}`, extension.config)}.`]
    case 'provider':
      return [
        `The provider ${name}: set ${sectionOf(`providers.${name}`, extension.config, `kind: '${name}'`)}, ` +
          `and use its models as ${name}/<model>.`,
      ]
    case 'preset': {
      const section = extension.auth || extension.config ? sectionOf(`hooks.${name}`, extension.config) : undefined
      const secret = extension.auth ? ', with the secret of the service in its `auth`' : ''
      return [`The preset ${name}: add '${name}' to hooks.presets${section ? `, and set ${section}${secret}` : ''}.`]
    }
    case 'toolset':
      return extension.config && requiredKeys(extension.config).length > 0
        ? [`The toolset ${name}: set ${sectionOf(`tools.${name}`, extension.config)}.`]
        : [`The toolset ${name} needs no settings; the tool policy says who may use its tools.`]
    case 'scheme':
      return [`The scheme ${name}: name it in the \`auth\` of a mapping.`]
    case 'command':
      return [`The command: svc-gateway ${name} --help.`]
    default:
      return kind satisfies never
  }
}

function sectionOf(path: string, schema: unknown, first?: string): string {
  const keys = [...(first === undefined ? [] : [first]), ...requiredKeys(schema)]
  return keys.length === 0 ? path : `${path} (${keys.join(', ')})`
}

/** Keys with a default are filled in. */
function requiredKeys(schema: unknown): string[] {
  const { required, properties } = fieldsOf(schema)
  const hasDefault = (key: string): boolean => 'default' in fieldsOf(fieldsOf(properties)[key])
  return Array.isArray(required) ? required.map(String).filter((key) => !hasDefault(key)) : []
}
