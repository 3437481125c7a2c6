// What the check of a release says is missing, and which licenses it accepts.
import { describe, expect, it } from 'vitest'
import { findMissing, isPermissive } from '../.ci/release.ts'

const whole = {
  name: 'svc-gateway',
  version: '1.2.3',
  repository: { type: 'git', url: 'git+https://forge.example/owner/svc-gateway.git' },
  homepage: 'https://forge.example/owner/svc-gateway',
  bugs: { url: 'https://forge.example/owner/svc-gateway/issues' },
}
const changelog = '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-21\n'

describe('publishing', () => {
  it('needs addresses and a section of the changelog', () => {
    expect(findMissing(whole, changelog)).toEqual([])
    expect(findMissing({ ...whole, repository: 'owner/svc-gateway', bugs: {} }, changelog)).toEqual([
      'package.json has no `repository` with an address that begins with https://; add it.',
      'package.json has no `bugs` with an address that begins with https://; add it.',
    ])
    expect(findMissing({ ...whole, version: '1.3.0' }, changelog)).toEqual([
      'CHANGELOG.md has no section "## [1.3.0] - <date>"; rename [Unreleased].',
    ])
  })
})

it.each([
  ['MIT', true],
  ['(MIT OR GPL-3.0-or-later)', true],
  ['Apache-2.0 AND MIT', true],
  ['MIT AND GPL-3.0', false],
  ['GPL-3.0', false],
  ['none', false],
])('the license %s asks for no more than a notice: %j', (license, expected) => {
  expect(isPermissive(license)).toBe(expected)
})
