// The schema of the configuration describes every key.
import { describe, expect, it } from 'vitest'
import { fillDefaults } from '../../core/config/defaults.ts'
import { createConfigSchema } from '../../core/config/schema/schema.ts'
import { listProblems } from '../../core/typebox.ts'

const schema = createConfigSchema({
  channels: new Map(),
  toolsets: new Map(),
  providers: new Map(),
  presets: new Map(),
  schemes: new Map(),
})

interface Node {
  description?: string
  properties?: Record<string, Node>
  additionalProperties?: Node | boolean
  items?: Node
}

function undescribed(node: Node, path: string): string[] {
  const children = [
    ...Object.entries(node.properties ?? {}),
    ['<name>', node.additionalProperties],
    ['[]', node.items && { description: ' ', ...node.items }],
  ] as const
  return [
    ...(path && !node.description ? [path] : []),
    ...children.flatMap(([key, child]) => (typeof child === 'object' ? undescribed(child, `${path}.${key}`) : [])),
  ]
}

describe('createConfigSchema', () => {
  it('describes every key', () => {
    expect(undescribed(schema as Node, '')).toEqual([])
  })

  it('has valid defaults', () => {
    expect(listProblems(schema, fillDefaults(schema, {}))).toEqual([])
  })
})
