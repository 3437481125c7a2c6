// Finding the known name that is most similar to a misspelled one.
import { expect, it } from 'vitest'
import { nearest } from '../../core/config/nearest.ts'

const names = ['token', 'path', 'enabled', 'timeoutSeconds', 'allowedAgentIds', 'to']

it.each([
  ['tokn', 'token'],
  ['TOKEN', 'token'],
  ['enabeld', 'enabled'],
  ['timeoutSecs', 'timeoutSeconds'],
  ['allowedAgentIdsr', 'allowedAgentIds'],
  ['allowed_agent_ids', 'allowedAgentIds'],
  ['paths', 'path'],
  ['ot', 'to'],
])('%s means %s', (typed, name) => {
  expect(nearest(typed, names)).toBe(name)
})

it.each(['', 'secret', 'zzzzz', 'time'])('finds nothing similar to %j', (typed) => {
  expect(nearest(typed, names)).toBeUndefined()
})
