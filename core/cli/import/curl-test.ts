// Writes a test for a proposed mapping: vitest sends the sample to a gateway and compares what the agent reads.
import JSON5 from 'json5'
import type { Proposal } from './curl-mapping.ts'

export function describeTest(file: string, { mapping, headers, message }: Proposal): string {
  // The test has no secrets, so the gateway of the test gets the hook token.
  const { auth: _, ...tested } = mapping
  return `// The webhook ${mapping.match.path}: what the agent reads of its sample.
import { readFile } from 'node:fs/promises'
import { createTestGateway } from 'svc-gateway/testing'
import { expect, it, onTestFinished } from 'vitest'

// As in gateway.json5, without \`auth\`: the test sends the hook token.
const mapping = ${JSON5.stringify({ ...tested, deliver: false }, null, 2)}

const headers = ${JSON5.stringify(headers)}

it('gives the agent the expected message', async () => {
  const gateway = await createTestGateway({ config: { hooks: { mappings: [mapping] } } })
  onTestFinished(gateway.close)
  const payload = JSON.parse(await readFile(new URL(${JSON5.stringify(file)}, import.meta.url), 'utf8'))
  const path = ${JSON5.stringify(`/hooks/${mapping.match.path}`)}
  const { status, body } = await gateway.post(path, payload, { ...headers, prefer: 'wait=10' })
  expect({ status, run: body.status }).toEqual({ status: 200, run: 'succeeded' })
  expect(gateway.prompts[0]).toContain(${JSON5.stringify(message)})
})
`
}
