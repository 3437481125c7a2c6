// Checks the picture of the first minute in the README: records it again and compares what the terminal shows.
import { readFileSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { picture, recordFirstMinute } from '../.ci/first-minute.ts'
import { readPicture } from '../.ci/terminal-picture.ts'

it('shows what the program prints; if not, run "npm run docs:picture"', async () => {
  const printed = (await recordFirstMinute()).map((line) => line.replaceAll(/\u001B\[[\d;]*m/g, ''))
  expect(readPicture(readFileSync(picture, 'utf8'))).toEqual(printed)
})

it('is small, needs no other file, and has colours for light and dark pages', () => {
  const svg = readFileSync(picture, 'utf8')
  expect(statSync(picture).size).toBeLessThan(40_000)
  expect(svg).not.toMatch(/(?:href|src|url\()\s*=?\s*["']?http/)
  expect(svg).toContain('prefers-color-scheme: dark')
})
