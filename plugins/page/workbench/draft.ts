// The mapping that is being made: its fields, and its text as JSON5.
export const tests = ['equals', 'not', 'in', 'exists', 'startsWith', 'endsWith', 'contains', 'matches'] as const
export type Test = (typeof tests)[number]

export interface Condition {
  part: 'payload' | 'headers'
  /** The path in the payload, or the name of the header. */
  key: string
  test: Test
  /** As typed. Several values of `in` are separated by commas. */
  value: string
}

export interface Draft {
  id: string
  path: string
  conditions: readonly Condition[]
  action: 'agent' | 'wake'
  template: string
  /** The module of a transform; empty for none. */
  transform: string
  /** The function of the transform; empty for its default export. */
  transformExport: string
  sessionKey: string
  /** Further keys, as JSON5 without braces. */
  more: string
}

export const emptyDraft: Draft = {
  id: '',
  path: '',
  conditions: [],
  action: 'agent',
  template: '',
  transform: '',
  transformExport: '',
  sessionKey: '',
  more: '',
}

/** The mapping as in `hooks.mappings`. Empty fields are left out. */
export function formatMapping(draft: Draft): string {
  const { id, path, conditions, action, template, transform, transformExport, sessionKey, more } = draft
  const exported = transformExport === '' ? {} : { export: transformExport }
  const lines = [
    ...(id === '' ? [] : [`id: ${quote(id)},`]),
    ...formatMatch(path, conditions),
    ...(action === 'wake' ? ["action: 'wake',"] : []),
    ...(template === '' ? [] : [`${templateKey(action)}: ${quote(template)},`]),
    ...(transform === '' ? [] : [`transform: ${formatValueOf({ module: transform, ...exported })},`]),
    ...(sessionKey === '' ? [] : [`sessionKey: ${quote(sessionKey)},`]),
    ...(more.trim() === '' ? [] : more.trim().split('\n')),
  ]
  return ['{', ...lines.map((line) => `  ${line}`), '}'].join('\n')
}

export const templateKey = (action: Draft['action']): string => (action === 'wake' ? 'textTemplate' : 'messageTemplate')

function formatMatch(path: string, conditions: readonly Condition[]): string[] {
  const given = conditions.filter(({ key }) => key !== '')
  const parts = (['headers', 'payload'] as const).flatMap((part) => {
    const byKey = Map.groupBy(
      given.filter((condition) => condition.part === part),
      ({ key }) => key,
    )
    if (byKey.size === 0) return []
    const entries = Array.from(byKey, ([key, all]) => `    ${quoteKey(key)}: ${formatTests(all)},`)
    return [`  ${part}: {`].concat(entries, '  },')
  })
  if (path === '' && parts.length === 0) return []
  if (parts.length === 0) return [`match: { path: ${quote(path)} },`]
  return ['match: {', ...(path === '' ? [] : [`  path: ${quote(path)},`]), ...parts, '},']
}

/** Several conditions on one key are one object. A later test of the same name replaces an earlier one. */
function formatTests(conditions: readonly Condition[]): string {
  const [first] = conditions
  if (conditions.length === 1 && first?.test === 'equals') return formatScalar(first.value)
  const values = new Map(conditions.map((condition) => [condition.test, formatValue(condition)]))
  return `{ ${Array.from(values, ([test, value]) => `${test}: ${value}`).join(', ')} }`
}

function formatValue({ test, value }: Condition): string {
  if (test === 'exists') return value.trim() === 'false' ? 'false' : 'true'
  if (test === 'in')
    return `[${value
      .split(',')
      .map((one) => formatScalar(one.trim()))
      .join(', ')}]`
  return test === 'equals' || test === 'not' || test === 'contains' ? formatScalar(value) : quote(value)
}

/** A number, `true`, `false` and `null` are values of JSON; anything else, and what is in double quotes, is text. */
function formatScalar(typed: string): string {
  const text = typed.trim()
  if (/^(?:true|false|null|-?\d+(?:\.\d+)?)$/.test(text)) return text
  const [, inner] = /^"(.*)"$/s.exec(text) ?? []
  return quote(inner ?? typed)
}

/** Single quotes, as in the documentation. JSON5 recommends to escape the line separators of Unicode. */
function quote(text: string): string {
  const escaped = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
  return `'${escaped}'`
}

/** Keys of a mapping as in its text, one on each line. */
export const formatKeys = (keys: object): string =>
  Object.entries(keys)
    .map(([key, value]) => `${quoteKey(key)}: ${formatValueOf(value)},`)
    .join('\n')

/** A value as JSON5. */
function formatValueOf(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return `[${value.map(formatValueOf).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).map(([key, one]) => `${quoteKey(key)}: ${formatValueOf(one)}`)
  return `{ ${entries.join(', ')} }`
}

const quoteKey = (key: string): string => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key))
