// Tests QR codes in the terminal.
import { expect, it } from 'vitest'
import { drawQrCode } from '../../core/delivery/connections/qr-code.ts'

it('draws light squares, two rows in one line, with a margin', async () => {
  const lines = (await drawQrCode('hello')).split('\n')
  expect(lines.pop()).toBe('')
  expect(new Set(lines.map((line) => line.length))).toEqual(new Set([25]))
  expect(lines).toHaveLength(13)
  expect(lines[0]).toBe('█'.repeat(25))
  expect(lines[1]).toMatch(/^██ ▄▄▄▄▄ .* ▄▄▄▄▄ ██$/)
})

it('rejects what fits into no code', async () => {
  await expect(drawQrCode('x'.repeat(2954))).rejects.toThrow()
})
