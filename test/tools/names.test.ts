// Names in policy lists, and the tools that they match.
import { describe, expect, it } from 'vitest'
import { matches } from '../../core/tools/names.ts'

const read = { name: 'read', group: 'fs', toolset: 'files' }
const roll = { name: 'roll_dice', group: 'games', toolset: 'dice', foreign: true }

describe('a name in a policy list', () => {
  it.each([
    ['read', true],
    [' READ ', true],
    ['rea', false],
    ['reader', false],
    ['files', true],
    ['group:fs', true],
    ['Group:FS', true],
    ['group:read', false],
    ['group:plugins', false],
    ['fs', false],
    ['*', true],
    ['r*', true],
    ['*d', true],
    ['r*d', true],
    ['re*ad', true],
    ['read*', true],
    ['rea*ad', false],
    ['*e*a*', true],
    ['*a*e*', false],
    ['**', true],
    ['group:*', false],
    ['file*', false],
    ['', false],
  ])('%j matches the tool read of the toolset files: %s', (name, means) => {
    expect(matches(name, read)).toBe(means)
  })

  it.each([
    ['group:games', true],
    ['group:plugins', true],
    ['dice', true],
    ['*_*', true],
    ['roll_dice', true],
    ['group:fs', false],
  ])('%j matches a tool of a plugin: %s', (name, means) => {
    expect(matches(name, roll)).toBe(means)
  })

  it.each([
    ['read', 'fs'],
    ['exec', 'runtime'],
    ['web_fetch', 'web'],
    ['cron', 'automation'],
    ['message', 'messaging'],
    ['agents_list', 'sessions'],
  ])('matches %s by group:%s, whatever group the tool declares', (name, group) => {
    expect([matches(`group:${group}`, { name }), matches(`group:${group}`, { name, group: 'other' })]).toEqual([
      true,
      true,
    ])
    expect(matches('group:other', { name, group: 'other' })).toBe(true)
  })

  it('with many stars is matched in linear time', () => {
    const name = 'a'.repeat(64)
    expect(matches(`${'a*'.repeat(50_000)}b`, { name })).toBe(false)
    expect(matches(`${'*a'.repeat(64)}*`, { name })).toBe(true)
    expect(matches(`${'*a'.repeat(65)}*`, { name })).toBe(false)
  })
})
